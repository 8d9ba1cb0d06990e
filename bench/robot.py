"""Arms from joint torques: speed and accuracy beside Pinocchio with lstsq, FIGAROH; coverage."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pinocchio as pin
from scipy.signal import butter, filtfilt

from veh_identification.identification.blocks import FactoryBlocks
from veh_identification.identification.gram import accumulate_fast
from veh_identification.multibody.columns import coulomb, motor_inertia, offset, viscous
from veh_identification.multibody.regressor import Regressor
from veh_identification.runtime.share import share_directory
from veh_identification.signals import TimeSeries
from veh_identification.simulation.robot.closed_loop import run
from veh_identification.simulation.robot.scenarios import (
    Arm,
    ArmSensors,
    exciting_motion,
    measured,
    random_arm,
)
from veh_identification.systems.humanoid.robot import load_robot
from veh_identification.systems.robot.configuration import Configuration
from veh_identification.systems.robot.estimation.estimate import Estimate, estimate
from veh_identification.systems.robot.estimation.links import factor_solution
from veh_identification.systems.robot.model import ArmModel
from veh_identification.systems.robot.recording import ArmRecording
from veh_identification.systems.robot.setup import set_up
from veh_identification.types import Array

PART = 'robot'
MODELS = share_directory() / 'config' / 'models'
# Where our ten parameters stand in Pinocchio's order (m, mc, xx, xy, yy, xz, yz, zz).
PINOCCHIO_ORDER = np.array([0, 1, 2, 3, 4, 5, 7, 6, 8, 9])
#: The usual recipe: positions and efforts low-passed forth and back, differences, lstsq.
PEER_CUTOFF = 10.0
FASTER, COVERED, MEAN_Z = 8.0, (92.0, 98.0), 0.2
#: Delays that are drawn [s], and what is left of them [ms].
LONGEST_DELAY, DELAY_FOUND = 0.010, 0.1
#: Samples whose rows are made and reduced together: they stay in the cache.
BLOCK = 4096


def row(
    case: str,
    unit: str,
    ours: float,
    peer: float | None,
    peer_name: str,
    wanted: str = '',
    met: bool | None = None,
) -> dict[str, Any]:
    """One line of the table; the ratio is the peer over ours."""
    ratio = None if peer is None else peer / ours
    return {
        'case': case,
        'unit': unit,
        'ours': ours,
        'peer': peer,
        'peer_name': peer_name,
        'ratio': ratio,
        'wanted': wanted,
        'met': None if met is None else bool(met),
    }


def recorded(arm: Arm, seed: int, seconds: float, sensors: ArmSensors) -> ArmRecording:
    """The arm under its controller on a motion that does not quite repeat."""
    times = np.arange(round(seconds * arm.drive.control_rate)) / arm.drive.control_rate
    wanted = exciting_motion(arm.nominal, times, seed, 0.1037)
    made = run(arm.plant, arm.nominal, arm.friction, arm.drive, wanted)
    stamps, position, effort = measured(made, sensors, arm.nominal.effort, seed)
    joints = arm.plant.joints
    names = [f'{what}[{joint}]' for what in ('position', 'effort') for joint in joints]
    series = TimeSeries(stamps, np.column_stack([position, effort]), names, [''] * len(names))
    return ArmRecording('bench', 'joint_states', joints, series, (), ())


def ours(recording: ArmRecording, urdf: str) -> Estimate:
    """What `veh-id identify robot` does."""
    return estimate(set_up(load_robot(MODELS / urdf), [recording], None, Configuration()))


def smoothed(recording: ArmRecording) -> tuple[Array, ...]:
    """Positions, differences of them, efforts, of the peers."""
    stamps = recording.series.stamps
    step = float(np.median(np.diff(stamps)))
    b, a = butter(4, 2.0 * PEER_CUTOFF * step)
    q, effort = (filtfilt(b, a, x, axis=0) for x in (recording.position, recording.effort))
    qd = np.gradient(q, step, axis=0)
    qdd = np.gradient(qd, step, axis=0)
    inner = slice(100, -100)
    return q[inner], qd[inner], qdd[inner], effort[inner]


def pinocchio_rows(urdf: str, model: ArmModel, q: Array, qd: Array, qdd: Array) -> Array:
    """Our columns by a loop over Pinocchio's regressor (N, joints, columns)."""
    robot = pin.buildModelFromUrdf(str(MODELS / urdf))
    robot.gravity.linear = model.gravity
    data, count = robot.createData(), q.shape[1]
    order = np.concatenate([PINOCCHIO_ORDER + 10 * k for k in range(count)])
    W = np.empty((len(q), count, 14 * count))
    for k in range(len(q)):
        W[k, :, : 10 * count] = pin.computeJointTorqueRegressor(robot, data, q[k], qd[k], qdd[k])[
            :, order
        ]
    each = np.arange(count)
    for place, values in enumerate((qdd, qd, np.ones_like(q), np.sign(qd))):
        block = np.zeros((len(q), count, count))
        block[:, each, each] = values
        W[:, :, (10 + place) * count : (11 + place) * count] = block
    columns = [*model.base.base, *range(13 * count, 14 * count)]
    return W[:, :, columns]


def our_regressor(model: ArmModel) -> Regressor:
    """The same columns in our kernel."""
    joints = model.joints
    extras = [make(name) for make in (motor_inertia, viscous, offset) for name in joints]
    extras += [coulomb(name, 0.0) for name in joints]
    kept = [*model.base.names, *(f'{name}.fs' for name in joints)]
    return Regressor(model.tree, rows='joints', extras=extras, enabled=kept)


def best_of(work: Callable[[], Any], times: int = 3) -> tuple[float, Any]:
    """Least processor time of several runs [s], and what came out."""
    spent, found = [], None
    for _ in range(times):
        begin = time.process_time()
        found = work()
        spent.append(time.process_time() - begin)
    return min(spent), found


def speed(quick: bool) -> list[dict[str, Any]]:
    """The same rows and the same least squares; then the whole identification."""
    urdf, seconds = 'arm_6_axis.urdf', 12.0 if quick else 60.0
    arm = random_arm(urdf, 300)
    recording = recorded(arm, 300, seconds, ArmSensors())
    model = ours(recording, urdf).setup.model
    q, qd, qdd, effort = smoothed(recording)

    regressor = our_regressor(model)

    def kernel() -> Array:
        motion = model.motion(q, qd, qdd)
        source = FactoryBlocks(
            lambda: ((W, effort[samples]) for samples, W in regressor.blocks(motion, BLOCK))
        )
        return factor_solution(accumulate_fast(source)[0].combined(np.ones(6)))

    def loop() -> Array:
        W = pinocchio_rows(urdf, model, q, qd, qdd)
        return np.linalg.lstsq(W.reshape(-1, W.shape[2]), effort.ravel(), rcond=None)[0]

    mine, value = best_of(kernel)
    theirs, other = best_of(loop, 1)
    apart = float(np.abs((value - other) / np.maximum(np.abs(other), 1e-3)).max())
    if apart > 1e-8:
        raise AssertionError(f'the two solutions of the same rows differ by {apart:.2g}')
    count, name = len(q), 'Pinocchio in a loop, numpy lstsq'
    whole, _ = best_of(lambda: ours(recording, urdf))
    made = [
        row(
            'regressor and least squares, a sample of six axes',
            'us',
            1e6 * mine / count,
            1e6 * theirs / count,
            name,
            f'>= {FASTER:g} times',
            theirs >= FASTER * mine,
        ),
        row('whole identification (filters, delay, instruments)', 's', whole, theirs, name),
    ]
    peer = figaroh_seconds(urdf, q[: min(3000, count)], qd, qdd, effort)
    if peer is not None:
        per_sample = 1e6 * peer / min(3000, count)
        made.append(
            row(
                'regressor and least squares, a sample of six axes',
                'us',
                1e6 * mine / count,
                per_sample,
                'FIGAROH',
                f'>= {FASTER:g} times',
                per_sample >= FASTER * 1e6 * mine / count,
            )
        )
    return made


def figaroh_seconds(urdf: str, q: Array, qd: Array, qdd: Array, effort: Array) -> float | None:
    """FIGAROH's regressor, its base parameters by QR; None where it is not installed."""
    try:
        from figaroh.tools.qrdecomposition import double_QR
        from figaroh.tools.regressor import (
            build_regressor_basic,
            build_regressor_reduced,
            get_index_eliminate,
        )
    except ImportError:
        return None
    model = pin.buildModelFromUrdf(str(MODELS / urdf))
    robot = type('Robot', (), {'model': model, 'data': model.createData()})()
    options = {
        'has_friction': True,
        'has_actuator_inertia': True,
        'has_joint_offset': True,
        'act_idxv': list(range(q.shape[1])),
    }
    count, joints = len(q), q.shape[1]

    def work() -> Any:
        W = build_regressor_basic(robot, q, qd[:count], qdd[:count], options)
        known = {f'p{k}': 1.0 for k in range(W.shape[1])}
        gone, kept = get_index_eliminate(W, known, 1e-6)
        reduced = build_regressor_reduced(W, gone)
        return double_QR(effort[:count].T.ravel(), reduced, kept)

    assert joints == effort.shape[1]
    return best_of(work, 1)[0]


def accuracy(arms: Sequence[int]) -> list[dict[str, Any]]:
    """Errors of the same parameters from the same recordings."""
    urdf, errors = 'arm_6_axis.urdf', {'inertial': [], 'friction': []}  # type: ignore[var-annotated]
    for seed in arms:
        arm = random_arm(urdf, seed)
        recording = recorded(arm, seed, 30.0, ArmSensors())
        made = ours(recording, urdf)
        model = made.setup.model
        q, qd, qdd, effort = (side[::5] for side in smoothed(recording))
        W = pinocchio_rows(urdf, model, q, qd, qdd)
        other = np.linalg.lstsq(W.reshape(-1, W.shape[2]), effort.ravel(), rcond=None)[0]
        truth = model.values_of(arm.truth())
        friction = np.array([name.endswith(('.h', '.fs', '.off')) for name in made.names])
        for name, mask in (('inertial', ~friction), ('friction', friction)):
            errors[name].append(np.abs(np.stack([made.value, other]) - truth)[:, mask])
    rows = []
    for name, found in errors.items():
        both = np.concatenate(found, axis=1)
        mine, theirs = np.median(both, axis=1)
        rows.append(
            row(
                f'median error of {name} parameters, {len(arms)} arms under control',
                'SI',
                float(mine),
                float(theirs),
                'filtfilt, differences, lstsq',
                'no less accurate',
                mine <= theirs,
            )
        )
    return rows


def coverage(arms: Sequence[int], dirty: bool) -> list[dict[str, Any]]:
    """Truths within two deviations, and delays of the efforts that were drawn (0 to 10 ms)."""
    urdf = 'arm_7_axis.urdf' if dirty else 'arm_6_axis.urdf'
    z: dict[str, list[Array]] = {'inertial': [], 'friction': []}
    late = []
    for seed in arms:
        delay = float(np.random.default_rng(seed).uniform(0.0, LONGEST_DELAY))
        arm, sensors = random_arm(urdf, seed), ArmSensors(effort_delay=delay)
        if dirty:
            arm = random_arm(urdf, seed, sticking=0.3, bristle=2e-4)
            worse = {'ripple': 0.05, 'feedforward': 0.0, 'stiffness': 400.0, 'damping': 35.0}
            arm = replace(arm, drive=replace(arm.drive, **worse))  # type: ignore[arg-type]
            sensors = ArmSensors(250.0, 1e-4, 0.02, delay)
        made = ours(recorded(arm, seed, 60.0, sensors), urdf)
        late.append(1e3 * (made.state.delay - delay))
        error = made.value - made.setup.model.values_of(arm.truth())
        score = error / np.sqrt(np.diag(made.covariance))
        friction = np.array([name.endswith(('.h', '.fs', '.off')) for name in made.names])
        z['inertial'].append(score[~friction])
        z['friction'].append(score[friction])
    rows = []
    text = f'{len(arms)} arms, {"with all disturbances" if dirty else "clean"}'
    for name, scores in z.items():
        every = np.concatenate(scores)
        inside = 100.0 * float(np.mean(np.abs(every) < 2.0))
        low, high = COVERED
        case = f'{name} within two sigma, {text}, mean z {every.mean():+.2f}'
        met = low <= inside <= high and abs(float(every.mean())) < MEAN_Z
        rows.append(row(case, '%', inside, None, '', f'{low:g} to {high:g}', met))
    rms = float(np.sqrt(np.mean(np.square(late))))
    case = f'delay of efforts, {text}: error, rms (largest {np.abs(late).max():.2f})'
    within = float(np.abs(late).max()) < DELAY_FOUND
    rows.append(row(case, 'ms', rms, None, '', f'all within {DELAY_FOUND:g}', within))
    return rows


def measure(quick: bool) -> list[dict[str, Any]]:
    """All figures of this part."""
    count, many = (2, 2) if quick else (10, 25)
    return [
        *speed(quick),
        *accuracy(range(310, 310 + count)),
        *coverage(range(720, 720 + many), dirty=False),
        *coverage(range(760, 760 + many), dirty=True),
    ]
