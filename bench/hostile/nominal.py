"""Is an estimate where the undisturbed one is, ten seconds after a fault?

Motions (odometry, fused states, joints) are compared with those of the undisturbed run over the
last second, in scales: the deviation that the undisturbed run states, and a share of how much the
quantity changes over it. Beyond that a node may be as far off as one that is started when the
fault ends: what no sensor measures (a place by dead reckoning) does not come back, and a filter
needs its time. Identified parameters keep what they took in during the fault, so that
they are compared in their own deviations, and a difference counts only where the node says `yes`:
a node that knows better and says so is no silent error.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from hostile.spoiling import SECOND, stamp_of
from veh_identification.runtime import messages
from veh_identification.types import Array

#: Scales that an estimate may lie away; share of its range that is one scale.
MOST_SCALES, RANGE_SHARE = 3.0, 0.02
#: Joints that turn on and on.
TURNING = ('crank', 'wheel_fl', 'wheel_fr', 'wheel_rl', 'wheel_rr')
#: A scale at least, by words in the name: three are a degree of roll or pitch.
LEAST = {'gravity': 0.057, 'heading': 0.0058}
FUSED, GRAVITY = '/fused/state', 9.81
#: Times the distance of a node that is started when the fault ends.
MOST_FRESH = 1.5
#: Travels follow from roll and pitch, whose deviations odometry states, at such a distance [m];
#: so many of these deviations are no silent error.
LEVER, MOST_STATED = 1.0, 2.0
TRAVEL = 'suspension'
#: Deviations, and share of the value, that a parameter may move without a word.
MOST_SIGMAS, MOST_SHARE = 6.0, 0.02


@dataclass
class Motion:
    """One quantity over time."""

    times: list[float] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    sigmas: list[float] = field(default_factory=list)
    angle: bool = False

    def add(self, time: float, value: float, sigma: float = 0.0) -> None:
        """One more sample."""
        self.times.append(time)
        self.values.append(value)
        self.sigmas.append(sigma)


@dataclass
class Estimates:
    """What a run gave: motions by their names, the last parameters and what is said of them."""

    motions: dict[str, Motion] = field(default_factory=dict)
    parameters: dict[str, tuple[float, float]] = field(default_factory=dict)
    verdict: str = ''
    samples: int = 0
    #: Deviations that odometry states, for the fused state, which has none of its own.
    stated: dict[str, list[float]] = field(default_factory=dict)
    fresh: dict[str, float] = field(default_factory=dict)  # distances of a node started late

    def motion(self, name: str) -> Motion:
        """The motion of a name, which may be new."""
        return self.motions.setdefault(name, Motion())


def _heading(q: Any) -> float:
    return math.atan2(2.0 * (q.w * q.z + q.x * q.y), 1.0 - 2.0 * (q.y * q.y + q.z * q.z))


def _odometry(found: Estimates, topic: str, message: Any, time: float) -> None:
    place, twist = message.pose.pose.position, message.twist.twist
    pose, speed = message.pose.covariance, message.twist.covariance
    heading = _heading(message.pose.pose.orientation)
    for name, value, variance in (
        ('x', place.x, pose[0]),
        ('y', place.y, pose[7]),
        ('cosine of the heading', math.cos(heading), pose[35]),  # no jump at half a turn
        ('sine of the heading', math.sin(heading), pose[35]),
        ('vx', twist.linear.x, speed[0]),
        ('vy', twist.linear.y, speed[7]),
        ('yaw rate', twist.angular.z, speed[35]),
    ):
        found.motion(f'{topic} {name}').add(time, value, math.sqrt(max(variance, 0.0)))
    for word, variance in (
        ('gravity', GRAVITY**2 * max(pose[21], pose[28])),
        (TRAVEL, LEVER**2 * (pose[21] + pose[28])),
        *((f'v{axis}', speed[7 * k]) for k, axis in enumerate('xyz')),
    ):
        found.stated.setdefault(word, []).append(math.sqrt(max(variance, 0.0)))


def _fused(found: Estimates, topic: str, message: Any, time: float) -> None:
    if message.orientation_valid:
        for axis in 'xyz':
            found.motion(f'{topic} gravity {axis}').add(time, getattr(message.gravity, axis))
    if message.twist_valid:
        for axis in 'xyz':
            found.motion(f'{topic} v{axis}').add(time, getattr(message.twist.linear, axis))
    for k, name in enumerate(message.joint_names):
        if message.joint_valid[k]:
            found.motion(f'{topic} {name}').add(time, message.joint_positions[k])
    for k, name in enumerate(message.wrench_names):
        if message.wrench_valid[k]:
            found.motion(f'{topic} {name} fz').add(time, message.wrenches[k].force.z)


def _joints(found: Estimates, topic: str, message: Any, time: float) -> None:
    for kind in ('position', 'velocity'):
        for name, value in zip(message.name, getattr(message, kind), strict=False):
            one = found.motion(f'{topic} {name} {kind}')
            one.angle = kind == 'position' and name in TURNING
            one.add(time, float(value))


def _parameters(found: Estimates, _topic: str, message: Any, _time: float) -> None:
    found.parameters = {
        one.name: (one.value, one.std) for one in message.parameters if one.excited
    }
    found.verdict, found.samples = message.verdict, int(message.sample_count)


TAKERS = {
    'nav_msgs/msg/Odometry': _odometry,
    'veh_identification/msg/FusedState': _fused,
    'sensor_msgs/msg/JointState': _joints,
    'veh_identification/msg/ParameterEstimates': _parameters,
}


def collect(rows: Iterable[tuple[str, str, bytes, int]], since_ns: int = 0) -> Estimates:
    """The estimates among what the nodes published, motions from a time on."""
    found = Estimates()
    for topic, typename, payload, time_ns in rows:
        take = TAKERS.get(typename)
        if take is not None and (time_ns >= since_ns or take is _parameters):
            message = messages.deserialize(payload, typename)
            take(found, topic, message, stamp_of(message) / SECOND)
    return found


def _sigma(motion: Motion) -> float:
    return float(np.nanmedian(motion.sigmas)) if motion.sigmas else 0.0


def _stated(name: str, found: Estimates) -> float:
    """The deviation that a run states of a motion."""
    topic, _, rest = name.partition(' ')
    told = found.stated.get(rest.partition(' ')[0]) if topic == FUSED else None
    return float(np.nanmedian(told)) if told else _sigma(found.motions[name])


def _travel(name: str, found: Estimates) -> float:
    """How far off a travel may be by the tilts that a run states; zero for all else."""
    told = found.stated.get(TRAVEL) if TRAVEL in name and name.endswith('position') else None
    return MOST_STATED * float(np.nanmedian(told)) if told else 0.0


def _scale(name: str, found: Estimates) -> float:
    motion = found.motions[name]
    spread = float(np.ptp(motion.values)) if motion.values else 0.0
    sigma = _stated(name, found)
    least = max((size for word, size in LEAST.items() if word in name), default=1e-9)
    return max(RANGE_SHARE * spread, sigma, least)


def _apart(motion: Motion, nominal: Motion) -> float:
    """Rms difference over the common time."""
    times = np.array(motion.times)
    order = np.argsort(nominal.times)
    there = np.interp(times, np.array(nominal.times)[order], np.array(nominal.values)[order])
    known = (times >= min(nominal.times)) & (times <= max(nominal.times))
    gap: Array = np.array(motion.values)[known] - there[known]
    if motion.angle:  # a turn more or less is the same place
        gap = gap - 2.0 * np.pi * np.round(gap / (2.0 * np.pi))
    return float(np.sqrt(np.mean(gap**2))) if len(gap) else math.inf


def with_fresh(nominal: Estimates, late: Estimates) -> Estimates:
    """The clean run, with how far from it a node is that was started when faults end."""
    fresh = {
        name: _apart(late.motions[name], motion) if name in late.motions else math.inf
        for name, motion in nominal.motions.items()
    }
    # A node that says nothing yet after a new start may say nothing after a reset either.
    return replace(nominal, fresh=fresh, samples=min(nominal.samples, late.samples))


def away(found: Estimates, nominal: Estimates) -> list[str]:
    """Sentences for what is not where it is without the fault; `nominal`: the whole clean run."""
    told = []
    for name, motion in nominal.motions.items():
        late, fresh = found.motions.get(name), MOST_FRESH * nominal.fresh.get(name, 0.0)
        if late is None:
            told += [f'{name} is not given any more'] if math.isfinite(fresh) else []
            continue
        apart = _apart(late, motion)
        # What is known worse after the fault, and says so, is no silent error.
        scales = apart / max(_scale(name, nominal), _stated(name, found))
        if scales > MOST_SCALES and apart > max(fresh, _travel(name, found)):
            told.append(f'{name} is {apart:.3g} ({scales:.1f} scales) from nominal')
    if found.verdict == 'yes':
        told += _moved(found, nominal)
    if nominal.samples and not found.samples:
        told.append('no sample is used any more')
    return told


def away_by(found: Estimates, nominal: Estimates, later: float) -> tuple[float, str]:
    """The largest move in deviations or scales, and of what; `found` is `later` by seconds."""
    moved = {
        name: abs(value - nominal.parameters[name][0]) / nominal.parameters[name][1]
        for name, (value, _) in found.parameters.items()
        if name in nominal.parameters
    }
    for name, motion in nominal.motions.items():
        late = found.motions.get(name)
        if late is None:
            moved[name] = math.inf
            continue
        back = replace(late, times=[time - later for time in late.times])
        moved[name] = _apart(back, motion) / _scale(name, nominal)
    worst = max(moved, key=lambda name: moved[name]) if moved else ''
    return (moved[worst], worst) if moved else (math.nan, 'nothing was estimated')


def _moved(found: Estimates, nominal: Estimates) -> list[str]:
    told = []
    for name, (value, std) in found.parameters.items():
        usual, usual_std = nominal.parameters.get(name, (math.nan, math.nan))
        sigmas = abs(value - usual) / math.hypot(std, usual_std)
        if sigmas > MOST_SIGMAS and abs(value - usual) > MOST_SHARE * abs(usual):
            told.append(f'{name} is {value:.4g}, nominal {usual:.4g}, {sigmas:.0f} sigma')
    return told[:3]
