"""Results of an identification as an mcap recording that Foxglove and PlotJuggler open."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from veh_identification.findings import Verdict
from veh_identification.identification import IdentificationResult
from veh_identification.results.messages import reconstruction_message, result_message
from veh_identification.results.reconstruction import Reconstruction
from veh_identification.runtime.bags import BagWriter
from veh_identification.runtime.qos import LATCHED


def write_result_bag(
    path: Path,
    system: str,
    result: IdentificationResult,
    verdict: Verdict,
    series: Sequence[Reconstruction],
) -> None:
    """Parameters once, then measured and predicted sides of every series."""
    stamps = [int(one.stamps_ns[0]) for one in series if len(one.stamps_ns)]
    first = min(stamps, default=0)
    node = series[0].topic.split('/')[-2] if series else system
    with BagWriter(path) as writer:
        frame = series[0].frame if series else ''
        message = result_message(result, verdict, first, frame=frame)
        writer.write_message(f'{node}/parameters', message, first, qos=LATCHED)
        for one in series:
            _write_series(writer, one)


def _write_series(writer: BagWriter, one: Reconstruction) -> None:
    equations, units = list(one.equations), list(one.units)
    for stamp, measured, predicted in zip(one.stamps_ns, one.measured, one.predicted, strict=True):
        message = reconstruction_message(
            int(stamp), equations, units, measured, predicted, one.sigma, one.frame
        )
        writer.write_message(one.topic, message, int(stamp))
