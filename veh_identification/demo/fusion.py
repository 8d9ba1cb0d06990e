"""Demo step: a simulated drive through the sensor fusion node, compared with its truth."""

from __future__ import annotations

from pathlib import Path

from veh_identification.demo.parts import ErrorRow, Part
from veh_identification.reporting.pages import write_report
from veh_identification.results.fused import SETTLING, fused_report
from veh_identification.runtime.replay.bag import replay_graph
from veh_identification.simulation.scenarios import simulate


def run(out: Path, seed: int = 0, duration: float = 60.0) -> Part:
    """Simulate, replay and compare; the two bags stay in `out`."""
    bag, fused = out / 'drive', out / 'drive_fused'
    simulate('drive', bag, duration=duration, seed=seed, overwrite=True)
    replay_graph(
        [bag],
        'sensor_fusion',
        fused,
        config='sensor_fusion_drive.yaml',
        overwrite=True,
        log_level='error',
    )
    report = out / 'fusion' / 'report.html'
    report.parent.mkdir(exist_ok=True)
    told = [('graph', 'sensor_fusion'), ('config', 'sensor_fusion_drive'), ('out', fused)]
    content, verdict = fused_report(fused, [bag], told)
    write_report(report, content, verdict)
    return Part(
        'fusion',
        'Sensor fusion',
        'All sensors of a drive joined to one state at one instant by '
        f'the node sensor_fusion; errors after the first {SETTLING:g} s.',
        (
            f'veh-id simulate drive --duration {duration:g} --out {bag}',
            f'veh-id replay {bag} --graph sensor_fusion --config sensor_fusion_drive '
            f'--out {fused} --report {out / "fusion" / "report.html"}',
        ),
        errors=tuple(
            ErrorRow(row.name, row.unit, row.rms_observer, row.max_observer)
            for row in content.errors
        ),
        sentences=(verdict.line,),
        report=report,
        folders=(bag, fused),
    )
