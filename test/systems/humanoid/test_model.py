"""Model, base parameters and noise-free identification of the humanoid (Fig. 2)."""

import numpy as np
import pytest
from humanoid_cases import CAD, TRUE, motion, record, true_robot
from humanoid_runs import identified

from veh_identification.errors import ModelError
from veh_identification.identification import FactoryBlocks, identify
from veh_identification.multibody.base_parameters import structural_base_parameters
from veh_identification.multibody.closed_form import closed_form_base_parameters
from veh_identification.multibody.inertia import is_consistent
from veh_identification.multibody.regressor import Regressor
from veh_identification.multibody.tree import BASE_ROWS
from veh_identification.systems.humanoid.estimation.prior import link_prior, links_to_base
from veh_identification.systems.humanoid.robot import load_robot, parse_robot

ARMS = {
    name: 0.1 for name in true_robot().moving_joints() if 'shoulder' in name or 'elbow' in name
}


def test_models_weigh_and_count_as_the_document_says() -> None:
    robot, cad = true_robot(), load_robot(CAD)
    assert robot.total_mass == pytest.approx(8.0, abs=1e-9)
    assert cad.total_mass == pytest.approx(6.7, abs=1e-6)
    assert len(robot.moving_joints()) == 20
    assert robot.model().bodies == 21
    legs = robot.model(ARMS)
    assert legs.bodies == 13 and legs.dof == 12
    for one in (robot, cad):
        assert all(is_consistent(values, 1e-3) for values in one.parameters.values())
    # Stretched legs: 35 + 110 + 110 + 45 mm below the base, the head 240 mm above it.
    frame = legs.frame('head_top').translation[2]
    below = (
        -sum(
            legs.translation[legs.body_index(f'l_{n}')][2]
            for n in ('hip_yaw', 'hip_roll', 'knee', 'ankle_pitch')
        )
        + 0.035
    )
    assert frame + below == pytest.approx(0.54)


def test_94_base_parameters_numeric_and_closed_form() -> None:
    model = true_robot().model(ARMS)
    regressor = Regressor(model, rows='base')
    numeric, closed = structural_base_parameters(regressor), closed_form_base_parameters(model)
    assert numeric.rank == closed.rank == 94
    assert numeric.names == closed.names
    np.testing.assert_allclose(numeric.full_to_base, closed.full_to_base, atol=1e-9)
    assert structural_base_parameters(Regressor(true_robot().model(), rows='base')).rank == 150


def test_links_and_bodies_have_the_same_base_parameters() -> None:
    robot = true_robot()
    model = robot.model(ARMS)
    base = structural_base_parameters(Regressor(model, rows='base'))
    links = np.concatenate([robot.parameters[name] for name in robot.massive])
    np.testing.assert_allclose(
        links_to_base(robot, model, base) @ links,
        base.full_to_base @ model.parameters.ravel(),
        atol=1e-12,
    )


def natural_scale(robot, model, base) -> np.ndarray:
    """Natural size of every base parameter: m, m l or m l^2 of the links that make it up."""
    prior = link_prior(robot, 100.0)
    return np.sqrt(np.square(links_to_base(robot, model, base)) @ np.square(prior.std))


def test_noise_free_walk_gives_94_parameters_from_exact_derivatives() -> None:
    moving = motion('walk', 7.2)  # ten steps
    assert moving.references.steps == 10
    robot = true_robot()
    names = robot.model().coordinate_names
    state = moving.at(np.linspace(0.2, 7.0, 1500))
    still = {name: float(state.motion.q[0, names.index(name)]) for name in ARMS}
    model = robot.model(still)
    kept = [names.index(name) for name in model.coordinate_names]
    m = state.motion
    from veh_identification.multibody.motion import Motion

    walk = Motion(
        *(np.ascontiguousarray(a[:, kept]) for a in (m.q, m.qd, m.qdd)),
        m.base_acceleration,
        m.base_angular_velocity,
        m.base_angular_acceleration,
        m.air_speed_squared,
    )
    base = structural_base_parameters(Regressor(model, rows='base'))
    regressor = Regressor(model, rows='base', enabled=list(base.names))
    source = FactoryBlocks(
        lambda: ((W, state.total[where]) for where, W in regressor.blocks(walk))
    )
    result = identify(source, base.names, BASE_ROWS)
    truth = base.full_to_base @ model.parameters.ravel()
    error = np.abs(result.value - truth) / natural_scale(robot, model, base)
    assert error.max() < 1e-6
    assert result.condition_number < 1e3


def test_noise_free_bag_gives_them_to_a_percent(tmp_path) -> None:
    bag = record(tmp_path / 'walk', duration=7.2, noise=0.0)
    outcome = identified([bag], CAD)
    problem = outcome.estimate.problem
    robot = true_robot()
    truth = links_to_base(robot, robot.model(outcome.setup.locked), problem.base) @ np.concatenate(
        [robot.parameters[name] for name in robot.massive]
    )
    error = np.abs(outcome.result.value - truth) / natural_scale(
        robot, problem.model, problem.base
    )
    assert len(truth) == 94
    assert error.max() < 0.01
    assert outcome.estimate.total_mass[0] == pytest.approx(8.0, rel=1e-5)


def test_cutting_the_tree_keeps_the_sensor_frame() -> None:
    robot = true_robot().cut_at(['l_ankle_sensor', 'r_ankle_sensor'])
    model = robot.model()
    assert robot.mass_beyond == pytest.approx(0.18 * 2.03)
    assert model.parameters[:, 0].sum() == pytest.approx(8.0 - 0.18 * 2.03)
    assert model.frame('l_ankle_sensor').translation == pytest.approx([0.0, 0.0, -0.015])
    assert 'l_foot' not in robot.massive
    with pytest.raises(ModelError, match='no link "nowhere"'):
        robot.cut_at(['nowhere'])


def test_urdf_that_is_no_xml_is_named() -> None:
    with pytest.raises(ModelError, match=r'broken\.urdf'):
        parse_robot(b'<robot><link', 'broken.urdf')
    assert TRUE.is_file()
