"""Plates that wander, frames of markers, wrenches in axes of the world, and channels in steps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from humanoid_cases import CAD, record
from scipy.spatial.transform import Rotation
from test_checks import base, joints, wrenches

from veh_identification.systems.driver import configured
from veh_identification.systems.humanoid.checks.comparison import Comparison
from veh_identification.systems.humanoid.checks.markers import markers
from veh_identification.systems.humanoid.setup import _assembled


@pytest.fixture(scope='module')
def walk(tmp_path_factory):
    """System, configuration and a clean recording."""
    system, config = configured('humanoid', None, {'urdf': CAD, 'estimate_delays': False})
    bag = record(tmp_path_factory.mktemp('wandering') / 'bag', kind='arms', duration=5.0)
    return system, config, system.read(bag, config)


def growing(values):
    return values * np.linspace(1.0, 1.2, len(values))[:, None]


def mounted(values):
    ahead = Rotation.from_quat(values[:, 3:]).apply([0.06, 0.0, 0.0])
    return np.hstack([values[:, :3] + ahead, values[:, 3:]])


def held(values):
    values = values.copy()
    first = len(values) // 2
    values[first : first + len(values) // 8] = values[first]
    return values


CASES = {
    'clean': (lambda recording: recording, None),
    'growing gain': (wrenches(growing), 'drift'),
    'zero that wanders': (
        wrenches(lambda v: v + np.linspace(0.0, 12.0, len(v))[:, None] * (np.arange(6) == 2)),
        'drift',
    ),
    'joints in steps of 5 degrees': (
        joints(lambda name, q: 0.0873 * np.round(q / 0.0873)),
        'coarse',
    ),
    'force along the ground in lbf': (
        wrenches(lambda v: v * np.array([0.2248, 0.2248, 1.0, 1.0, 1.0, 1.0])),
        'unit',
    ),
    'wrenches held': (wrenches(held), 'stuck'),
    'Fy is Fx': (wrenches(lambda v: v[:, [0, 0, 2, 3, 4, 5]]), 'copied'),
}


@pytest.mark.parametrize('case', CASES)
def test_the_cause_is_named(walk, case: str) -> None:
    system, config, recording = walk
    change, code = CASES[case]
    bad = {one.code for one in system.checks(change(recording), config) if one.level == 'bad'}
    assert bad == ({code} if code else set())


def test_a_frame_of_markers_is_named_with_its_place(tmp_path) -> None:
    system, config = configured('humanoid', None, {'urdf': CAD, 'estimate_delays': False})
    recording = system.read(record(tmp_path / 'bag', kind='bend', duration=12.0), config)
    for change, told in ((base(mounted), True), (lambda same: same, False)):
        made = _assembled(config.described, [change(recording)], 1, config.configuration)
        causes = [*markers(Comparison(made.problem, made.raws[0]))]
        assert bool(causes) == told
    told = system.checks(base(mounted)(recording), config)
    assert [one.code for one in told if one.level in ('bad', 'warn')] == ['base_shifted']


def test_a_wrench_in_axes_of_the_world_is_named(walk) -> None:
    system, config, recording = walk
    (one,) = recording.wrenches
    turn = Rotation.from_euler('z', 35.0, degrees=True).as_matrix()
    pose = replace(one.pose, rotation=turn)  # where it stands; its wrenches stay in the world's
    changed = replace(recording, wrenches=(replace(one, pose=pose),))
    codes = [each.code for each in system.checks(changed, config) if each.level == 'bad']
    assert codes == ['frame_turned'] or codes == ['plate_yaw']
