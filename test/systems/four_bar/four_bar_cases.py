"""An observer of the linkage over all its sensors at once, which no recording holds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from veh_identification.observation import ErrorEKF, Innovation, Measurement
from veh_identification.simulation.four_bar import Truth
from veh_identification.systems.four_bar.filter_setup import make_filter
from veh_identification.systems.four_bar.model import COORDINATES, Setup
from veh_identification.systems.observing.figures import error_columns


@dataclass
class Run:
    """Estimates at the times of a recording, and what the filter said about them."""

    q: np.ndarray
    qd: np.ndarray
    force_error: np.ndarray
    filter: ErrorEKF
    innovations: dict[str, list[Innovation]] = field(default_factory=dict)


def observe(recording: Truth, filter_: ErrorEKF) -> Run:
    """Predict and update with whatever the filter has sensors for."""
    model: Any = filter_.model
    names = list(filter_.sensors)
    count, n = recording.q.shape
    run = Run(np.empty((count, n)), np.empty((count, n)), np.empty(count), filter_)
    run.innovations = {name: [] for name in names}
    previous = 0.0
    for k, time in enumerate(recording.time):
        measurements = [Measurement(name, time, recording.sensors[name][k]) for name in names]
        for innovation in filter_.step(time - previous, recording.torque[k], measurements):
            run.innovations[innovation.sensor].append(innovation)
        previous = time
        run.q[k], run.qd[k] = model.model.q, model.model.qd
        run.force_error[k] = model.force_error[0]
    return run


def model_alone(setup: Setup, recording: Truth) -> Run:
    """The uncorrected model of Table 1."""
    return observe(recording, make_filter(setup, []))


def errors(
    recording: Truth, observer: Run, model: Run, after: float = 1.0
) -> dict[str, dict[str, float]]:
    """The thesis' columns after a time."""
    late = recording.time > after
    return {
        prefix + name: error_columns(
            seen[late, column] - truth[late, column], alone[late, column] - truth[late, column]
        )
        for prefix, truth, seen, alone in (
            ('', recording.q, observer.q, model.q),
            ('v', recording.qd, observer.qd, model.qd),
        )
        for column, name in enumerate(COORDINATES)
    }
