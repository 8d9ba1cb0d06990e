"""Demo step: a simulated drive through the sensor fusion node, compared with its truth."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from veh_identification.demo.parts import ErrorRow, Part
from veh_identification.runtime.bags.columns import read_columns
from veh_identification.runtime.replay.bag import replay_graph
from veh_identification.simulation.scenarios import simulate

#: Seconds that the estimator gets to settle before errors count.
SETTLING = 10.0


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
    return Part(
        'fusion',
        'Sensor fusion',
        'All sensors of a drive joined to one state at one instant by '
        f'the node sensor_fusion; errors after the first {SETTLING:g} s.',
        (
            f'veh-id simulate drive --duration {duration:g} --out {bag}',
            f'veh-id replay {bag} --graph sensor_fusion --config sensor_fusion_drive '
            f'--out {fused}',
        ),
        errors=tuple(compare(fused, bag)),
        folders=(bag, fused),
    )


def compare(fused: Path, truth: Path) -> list[ErrorRow]:
    """Errors of `fused/state` against `truth/odom` at the stamps of the former."""
    position = [f'pose.position.{axis}' for axis in 'xyz']
    orientation = [f'pose.orientation.{axis}' for axis in 'xyzw']
    linear = [f'twist.linear.{axis}' for axis in 'xyz']
    angular = [f'twist.angular.{axis}' for axis in 'xyz']
    state = read_columns(fused, {'/fused/state': [*position, *orientation, *linear, *angular]})
    real = read_columns(
        truth,
        {
            '/truth/odom': [f'pose.{name}' for name in (*position, *orientation)]
            + [f'twist.{name}' for name in (*linear, *angular)]
        },
    )
    estimate, exact = state['/fused/state'], real['/truth/odom']
    stamps = estimate.stamps_ns
    settled = (stamps > exact.stamps_ns[0] + SETTLING * 1e9) & (stamps < exact.stamps_ns[-1])
    at = (stamps[settled] - exact.stamps_ns[0]) * 1e-9
    known = (exact.stamps_ns - exact.stamps_ns[0]) * 1e-9

    def difference(paths: list[str], prefix: str) -> np.ndarray:
        columns = [np.interp(at, known, exact[f'{prefix}.{path}']) for path in paths]
        return estimate.matrix(*paths)[settled] - np.column_stack(columns)

    turn = _orientation_error(
        estimate.matrix(*orientation)[settled],
        exact.matrix(*(f'pose.{path}' for path in orientation)),
        at,
        known,
    )
    place, speed = difference(position, 'pose'), difference(linear, 'twist')
    rate = difference(angular, 'twist')
    return [
        _row('position, horizontal', 'm', np.hypot(place[:, 0], place[:, 1])),
        _row('position, vertical', 'm', place[:, 2]),
        _row('speed, longitudinal', 'm/s', speed[:, 0]),
        _row('speed, lateral', 'm/s', speed[:, 1]),
        _row('roll', 'deg', np.degrees(turn[:, 0])),
        _row('pitch', 'deg', np.degrees(turn[:, 1])),
        _row('yaw', 'deg', np.degrees(turn[:, 2])),
        _row('yaw rate', 'deg/s', np.degrees(rate[:, 2])),
    ]


def _orientation_error(
    estimate: np.ndarray, exact: np.ndarray, at: np.ndarray, known: np.ndarray
) -> np.ndarray:
    """Rotation vector from the true to the estimated orientation, in base axes."""
    signs = np.cumprod(np.concatenate([[1.0], np.sign((exact[1:] * exact[:-1]).sum(axis=1))]))
    smooth = exact * signs[:, None]
    true = np.column_stack([np.interp(at, known, smooth[:, k]) for k in range(4)])
    return (Rotation.from_quat(true).inv() * Rotation.from_quat(estimate)).as_rotvec()


def _row(name: str, unit: str, error: np.ndarray) -> ErrorRow:
    return ErrorRow(name, unit, float(np.sqrt(np.mean(error**2))), float(np.max(np.abs(error))))
