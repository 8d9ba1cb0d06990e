"""Hexapod: direct and inverse kinematics, names of Table I, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from parallel_cases import crooked, motion, palida

from veh_identification.configuration.faults import ConfigurationError
from veh_identification.errors import ModelError
from veh_identification.signals import spectral_derivatives
from veh_identification.systems.parallel.configuration import (
    load_configuration,
    parse_configuration,
)
from veh_identification.systems.parallel.model.geometry import Limits
from veh_identification.systems.parallel.model.kinematics import (
    direct_kinematics,
    inverse_kinematics,
    leg_motion,
    pose_conditions,
)
from veh_identification.systems.parallel.model.model import HexapodModel

RATE = 400 * 0.4


def test_table_one_names_units_and_a_priori_values() -> None:
    model = load_configuration().model()
    expected = [f'p{i}' for i in range(1, 11)] + ['r_alpha', 'r_beta']
    expected += [f'r{i}' for i in range(1, 7)] + [f'v{i}' for i in range(1, 7)]
    assert model.names == expected
    assert model.units[:12] == ['kg m^2'] * 3 + ['kg m'] * 2 + ['kg m^2'] * 3 + [
        'kg m',
        'kg',
        'N m',
        'N m',
    ]
    assert model.units[12:] == ['N'] * 6 + ['N s/m'] * 6
    table_two = [0.0074, 0.9439, 0.9458, 0.6201, -1.2295, 0.2878, 0.2878, 0.1217, 1.9012, 16.192]
    np.testing.assert_allclose(model.a_priori()[:10], table_two, atol=1e-12)
    assert np.isnan(model.a_priori()[10:]).all()
    _, pose, v, a = motion(model.robot)
    psi = model.regressor(pose, v, a).reshape(-1, 24)
    assert np.linalg.matrix_rank(psi / np.linalg.norm(psi, axis=0)) == 24


@pytest.mark.parametrize('make', [palida, crooked])
def test_direct_kinematics_inverts_the_inverse(make) -> None:
    robot = make()
    _, pose, v, a = motion(robot, seed=4)
    lengths = inverse_kinematics(robot, pose)
    np.testing.assert_allclose(direct_kinematics(robot, lengths), pose, atol=1e-12)
    q, qd, qdd = leg_motion(robot, pose, v, a)
    _, rate, acceleration = spectral_derivatives(lengths, RATE)
    np.testing.assert_allclose(q, lengths)
    np.testing.assert_allclose(qd, rate, atol=1e-9)
    np.testing.assert_allclose(qdd, acceleration, atol=1e-7)


def test_unreachable_missing_and_singular_poses_are_named() -> None:
    robot = palida()
    lengths = np.tile(inverse_kinematics(robot, robot.home), (3, 1))
    far = lengths.copy()
    far[2, 3] = 1.2
    with pytest.raises(ModelError, match=r'unreachable pose, sample 2 asks leg_4 for .* 1.2 m'):
        direct_kinematics(robot, far)
    wide = replace(robot, limits=Limits(condition=1e9))
    short = lengths.copy()
    short[1] = [0.05, 2.0, 0.05, 2.0, 0.05, 2.0]
    with pytest.raises(ModelError, match=r'(unreachable|singular) pose.*sample 1'):
        direct_kinematics(wide, short)
    missing = lengths.copy()
    missing[1, 4] = np.nan
    with pytest.raises(ModelError, match='sample 1 has no length for leg_5'):
        direct_kinematics(robot, missing)
    # legs through one axis: turned by 90 degrees a hexapod of this kind loses stiffness
    singular = robot.home + np.array([0, 0, 0, 0, 0, np.pi / 2])
    assert pose_conditions(robot, singular)[0] > 1e6
    with pytest.raises(ModelError, match=r'singular pose, at sample 0 .* above the guard 60'):
        HexapodModel(robot).regressor(singular[None], np.zeros((1, 6)), np.zeros((1, 6)))
    open_ends = replace(robot, limits=Limits(condition=60.0))
    with pytest.raises(ModelError, match='singular pose'):
        direct_kinematics(open_ends, inverse_kinematics(robot, singular), start=singular)


def test_configuration_errors_name_file_and_field() -> None:
    import yaml

    from veh_identification.runtime.graph import find_config

    text = find_config('hexapod_palida.yaml').read_text()

    def broken(change) -> dict:
        data = yaml.safe_load(text)
        change(data)
        return data

    cases = [
        (lambda d: d.pop('base'), 'robot.yaml: base: is missing'),
        (lambda d: d.update(bse=1), "robot.yaml: bse: is not known; did you mean 'base'"),
        (lambda d: d['leg'].update(mass=1), 'robot.yaml: leg.mass: is not known; there are: Izz1'),
        (lambda d: d['leg'].update(m3='x'), 'robot.yaml: leg.m3: expected a mass'),
        (lambda d: d['platform']['ring'].update(angles_deg=[1, 2]), 'expected 6 numbers'),
        (lambda d: d['sensor'].update(tolerance=1e-5), 'tolerance of the direct kinematics'),
        (lambda d: d['model'].update(passive='wet'), 'model.passive: expected .none., .dry.'),
        (lambda d: d['base'].update(alpha_axes='up'), 'alpha_axes: expected .tangential. or'),
        (lambda d: d['base'].update(alpha_axes=[[0, 0, 0]] * 6), 'an alpha axis has no length'),
    ]
    for change, sentence in cases:
        with pytest.raises(ConfigurationError, match=sentence):
            parse_configuration(broken(change), 'robot.yaml')
    vertical = broken(lambda d: d['base'].update(alpha_axes=[[0.35, 0.0, 1.0]] * 6))
    with pytest.raises(ModelError, match='points along its alpha axis'):
        parse_configuration(vertical, 'robot.yaml').model()
