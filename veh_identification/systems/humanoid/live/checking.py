"""The offline questions about units and axes, asked of the first seconds of states."""

from __future__ import annotations

import numpy as np

from veh_identification.findings import Finding
from veh_identification.signals import TimeSeries, rotation_matrix
from veh_identification.systems.humanoid.checks.units import unit_findings
from veh_identification.systems.humanoid.configuration import Pose
from veh_identification.systems.humanoid.live.states import BASE, ContactStates
from veh_identification.systems.humanoid.recording.reader import Recording, Wrench
from veh_identification.systems.humanoid.robot import Robot
from veh_identification.types import Array

LABEL = 'fused/state'


def check_states(
    rows: Array, states: ContactStates, robot: Robot, centre: Array | None
) -> list[Finding]:
    """Degrees, millimetres, a world that is not upright; `centre`: where the plates are."""
    return unit_findings(as_recording(rows, states, centre), robot)


def as_recording(rows: Array, states: ContactStates, centre: Array | None) -> Recording:
    """States as a recording: the plates' wrenches together at their middle in the world."""
    t = np.arange(len(rows), dtype=float)

    def series(values: Array, names: tuple[str, ...], label: str) -> TimeSeries:
        return TimeSeries(t, values, names, ('',) * len(names), 0, label)

    joints = tuple(states.joints)
    wrenches = []
    if centre is not None and states.has_plates:
        wrench = series(_in_world(rows, centre), ('fx', 'fy', 'fz', 'mx', 'my', 'mz'), LABEL)
        name = ', '.join(states.plate_names)
        wrenches.append(Wrench(name, states.world, wrench, Pose(centre, np.eye(3))))
    return Recording(
        LABEL,
        (series(rows[:, BASE : BASE + len(joints)], joints, LABEL),),
        series(rows[:, 12:19], ('x', 'y', 'z', 'qx', 'qy', 'qz', 'qw'), LABEL),
        tuple(wrenches),
        tuple(states.unknown),
        tuple(states.missing),
        (),
        0,
    )


def _in_world(rows: Array, centre: Array) -> Array:
    """The plates' wrench (n, 6), given at the base link, in world axes at `centre`."""
    turn = rotation_matrix(rows[:, 15:19])
    force = np.einsum('nij,nj->ni', turn, rows[:, 19:22])
    moment = np.einsum('nij,nj->ni', turn, rows[:, 22:25])
    return np.hstack([force, moment + np.cross(rows[:, 12:15] - centre, force)])
