"""The report of the sensor fusion, from what the node has published: states, sensors, errors."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from veh_identification.errors import InputError
from veh_identification.findings import Finding, Verdict
from veh_identification.findings.numbers import listed
from veh_identification.fusion.navigator import HARD
from veh_identification.reporting.content import (
    ObservationContent,
    Provenance,
    SensorRow,
    StateSeries,
)
from veh_identification.reporting.health import sensor_health
from veh_identification.reporting.judging.observation import judge
from veh_identification.results.observation import at, errors_of
from veh_identification.results.provenance import provenance
from veh_identification.runtime.bags import BagReader, read_columns
from veh_identification.types import Array

STATE, TRUTH = 'veh_identification/msg/FusedState', '/truth/odom'
#: Pose and twist with their covariance, where the node publishes it (`publish_odometry`).
ODOMETRY, ODOMETRY_TOPIC = 'nav_msgs/msg/Odometry', 'odometry/fused'
#: Seconds that the estimator gets before its errors count.
SETTLING = 10.0
STATUS = 'veh_identification/msg/ObserverStatus'
GATES = (
    'Each sensor has a chi-square gate of its own (its parameter gate, the probability that a '
    f'good measurement passes): beyond it a measurement weighs less, beyond {HARD:g} times its '
    'width it is rejected.'
)
#: Unit and meaning with its frame, in the order of the page.
MEANINGS: Mapping[str, tuple[str, str]] = {
    'x': ('m', 'place of the base link along x of the world-fixed frame'),
    'y': ('m', 'place of the base link along y of the world-fixed frame'),
    'z': ('m', 'height of the base link in the world-fixed frame'),
    'yaw': ('rad', 'heading about z of the world-fixed frame'),
    'roll': ('rad', 'roll of the base link'),
    'pitch': ('rad', 'pitch of the base link, nose down positive'),
    'forward_speed': ('m/s', 'velocity of the base link along its own x'),
    'lateral_speed': ('m/s', 'velocity of the base link along its own y (left)'),
    'yaw_rate': ('rad/s', 'turning rate about z of the base link'),
    'forward_acceleration': ('m/s^2', 'along x of the base link, gravity not included'),
    'lateral_acceleration': ('m/s^2', 'along y of the base link, gravity not included'),
}
POSITION = [f'pose.position.{axis}' for axis in 'xyz']
ORIENTATION = [f'pose.orientation.{axis}' for axis in 'xyzw']
TWIST = ['twist.linear.x', 'twist.linear.y', 'twist.angular.z']
ACCELERATION = ['acceleration.linear.x', 'acceleration.linear.y']
VALID = {
    'pose_valid': ('x', 'y', 'z', 'yaw'),
    'orientation_valid': ('roll', 'pitch'),
    'twist_valid': ('forward_speed', 'lateral_speed', 'yaw_rate'),
    'acceleration_valid': ('forward_acceleration', 'lateral_acceleration'),
}


def fused_report(
    fused: Path, recordings: Sequence[Path], command: Sequence[tuple[str, Any]] = ()
) -> tuple[ObservationContent, Verdict]:
    """What a replay of the sensor fusion has published, beside the truth where there is one."""
    topic = _topic(fused, STATE)
    if topic is None:
        raise InputError(f'{fused} holds no topic of {STATE}: the report is of the sensor fusion.')
    paths = [*POSITION, *ORIENTATION, *TWIST, *ACCELERATION, *VALID]
    columns = read_columns(fused, {topic: paths})[topic]
    if not len(columns):
        raise InputError(f'{fused}: {topic} holds no message: the sensor fusion never started.')
    stamps = columns.stamps_ns
    time = (stamps - stamps[0]) * 1e-9
    values = _values(columns)
    fields = zip(VALID['acceleration_valid'], ACCELERATION, strict=True)
    values |= {name: columns[path] for name, path in fields}
    for flag, names in VALID.items():
        known = np.asarray(columns[flag], dtype=bool)
        values |= {name: np.where(known, values[name], np.nan) for name in names}
    every = _states(time, values, _truth(recordings, stamps), _deviations(fused, stamps, values))
    states = tuple(one for one in every if np.isfinite(one.value).any())
    told = {one.name for one in states}
    content = ObservationContent(
        title=f'Sensor fusion: {", ".join(path.name for path in recordings) or fused.name}',
        system='sensor fusion',
        duration=float(time[-1]),
        real_time_factor=float('nan'),  # a replay decodes and compiles beside it
        states=states,
        innovations=(),
        errors=tuple(errors_of(_settled(state)) for state in states if state.truth is not None),
        sensors=_sensors(fused),
        outages=(),
        whiteness=(),
        gate_probability=None,
        findings=_never_known([one.name for one in every if one.name not in told]),
        health=sensor_health(recordings),
        provenance=_origin(recordings, command),
        path=('x', 'y') if {'x', 'y'} <= told else None,
        settling=SETTLING,
        gates=GATES,
    )
    return content, judge(content)


def _never_known(names: Sequence[str]) -> tuple[Finding, ...]:
    if not names:
        return ()
    text = (
        f'{listed(names)}: never known in this recording, the sensors that were used do not tell'
    )
    return (Finding('warn', 'never_known', text),)


def _origin(recordings: Sequence[Path], command: Sequence[tuple[str, Any]]) -> Provenance:
    """Recordings stand before the options of `veh-id replay`, and no system does."""
    words = ['veh-id', 'replay', *(str(path) for path in recordings)]
    for name, value in command:
        words += [] if value is None else [f'--{name}', str(value)]
    told = [*(('bag', path) for path in recordings), *command]
    return replace(provenance('replay', 'sensor_fusion', told), command=shlex.join(words))


def _settled(state: StateSeries) -> StateSeries:
    """The state without its beginning; where there is nothing else, whole."""
    assert state.truth is not None
    later = state.time > SETTLING
    if not later.any():
        return state
    return replace(
        state,
        time=state.time[later],
        value=state.value[later],
        truth=state.truth[later],
        std=None if state.std is None else state.std[later],
    )


def _topic(bag: Path, kind: str) -> str | None:
    with BagReader(bag) as reader:
        return next((name for name, one in reader.topics.items() if one.typename == kind), None)


def _values(columns: Any, pose: str = '', twist: str = '') -> dict[str, Array]:
    """Place, attitude and speeds; `pose` and `twist`: what stands before them in Odometry."""
    found = {axis: columns[f'{pose}{path}'] for axis, path in zip('xyz', POSITION, strict=True)}
    turn = columns.matrix(*(f'{pose}{path}' for path in ORIENTATION))
    angles = np.full((len(turn), 3), np.nan)
    good = np.linalg.norm(turn, axis=1) > 0.5
    angles[good] = Rotation.from_quat(turn[good]).as_euler('xyz')
    angles[good, 2] = np.unwrap(angles[good, 2])
    found |= dict(zip(('roll', 'pitch', 'yaw'), angles.T, strict=True))
    names = ('forward_speed', 'lateral_speed', 'yaw_rate')
    return found | {
        name: columns[f'{twist}{path}'] for name, path in zip(names, TWIST, strict=True)
    }


def _deviations(fused: Path, stamps_ns: Any, values: Mapping[str, Array]) -> dict[str, Array]:
    """Standard deviations of the published odometry; nan where a state has none."""
    with BagReader(fused) as reader:
        found = [
            name
            for name, one in reader.topics.items()
            if one.typename == ODOMETRY and name.endswith(ODOMETRY_TOPIC)
        ]
    if not found:
        return {}
    paths = [f'pose.covariance[{7 * k}]' for k in range(6)]
    crossed = 'pose.covariance[22]'  # of the turns about x and y
    moving = [f'twist.covariance[{7 * k}]' for k in (0, 1, 5)]
    columns = read_columns(fused, {found[0]: [*paths, crossed, *moving]})[found[0]]
    _, ours, theirs = np.intersect1d(stamps_ns, columns.stamps_ns, return_indices=True)
    yaw = values['yaw'][ours]
    about_x, about_y, cross = (columns[path][theirs] for path in (paths[3], paths[4], crossed))
    # Odometry turns about fixed axes; roll and pitch are turns about those of the heading.
    sine, cosine = np.sin(yaw), np.cos(yaw)
    along = cosine**2 * about_x + 2.0 * sine * cosine * cross + sine**2 * about_y
    across = sine**2 * about_x - 2.0 * sine * cosine * cross + cosine**2 * about_y
    variances = dict(zip(('x', 'y', 'z'), (columns[path][theirs] for path in paths), strict=False))
    variances |= {'roll': along, 'pitch': across, 'yaw': columns[paths[5]][theirs]}
    names = ('forward_speed', 'lateral_speed', 'yaw_rate')
    variances |= {name: columns[path][theirs] for name, path in zip(names, moving, strict=True)}
    made = {}
    for name, variance in variances.items():
        made[name] = np.full(len(stamps_ns), np.nan)
        made[name][ours] = np.sqrt(np.where(variance > 0.0, variance, np.nan))
    return made


def _truth(recordings: Sequence[Path], stamps_ns: Any) -> dict[str, Array]:
    """What a simulated recording knows of the states, at the stamps of the estimate."""
    for bag in recordings:
        with BagReader(bag, on_error='skip') as reader:
            if TRUTH not in reader.topics:
                continue
        paths = [
            *(f'pose.{path}' for path in (*POSITION, *ORIENTATION)),
            *(f'twist.{path}' for path in TWIST),
        ]
        columns = read_columns(bag, {TRUTH: paths})[TRUTH]
        start = columns.stamps_ns[0]
        known, wanted = (columns.stamps_ns - start) * 1e-9, (stamps_ns - start) * 1e-9
        exact = _values(columns, 'pose.', 'twist.')
        return {name: at(wanted, known, values) for name, values in exact.items()}
    return {}


def _states(
    time: Array,
    values: Mapping[str, Array],
    truth: Mapping[str, Array],
    deviations: Mapping[str, Array],
) -> tuple[StateSeries, ...]:
    states = []
    for name, (unit, meaning) in MEANINGS.items():
        exact = truth.get(name)
        if name == 'yaw' and exact is not None:  # whole turns are no error of the heading
            gap = (values[name] - exact) / (2.0 * np.pi)
            known = np.isfinite(gap)
            exact = exact + 2.0 * np.pi * np.round(np.median(gap[known]) if known.any() else 0.0)
        states.append(
            StateSeries(
                name, unit, time, values[name], deviations.get(name), exact, meaning=meaning
            )
        )
    return tuple(states)


def _sensors(fused: Path) -> tuple[SensorRow, ...]:
    """The counts that the node told last."""
    topic = _topic(fused, STATUS)
    last = None
    if topic is not None:
        with BagReader(fused) as reader:
            for item in reader.messages([topic]):
                last = item.message
    if last is None:
        return ()
    return tuple(
        SensorRow(
            one.name,
            float(one.rate),
            int(one.accepted),
            int(one.rejected),
            int(one.late + one.duplicate + one.invalid + one.waiting),
            float(one.nis_mean),
            float(one.nis_lower),
            float(one.nis_upper),
            (),
            float('nan'),
        )
        for one in last.sensors
    )
