"""The signals of the equations against the multibody code and against hand-made cases."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from car_cases import TRUTH, configuration, recording

from veh_identification.multibody.dynamics import ExternalWrench, external_rows
from veh_identification.multibody.motion import floating_base_motion
from veh_identification.multibody.tree import TreeModel
from veh_identification.systems.car.description.axle_tables import AxleTable
from veh_identification.systems.car.estimation.identify import CarMethod
from veh_identification.systems.car.model import EQUATIONS, CarModel
from veh_identification.systems.car.parameters import CORNERS, NAMES
from veh_identification.systems.car.processing.resampling import equalise, sensor_response
from veh_identification.systems.car.processing.signals import prepare
from veh_identification.systems.car.recording.samples import CarSamples, JointMotion
from veh_identification.systems.car.studies.models import compare_models


def random_samples(count: int = 20, seed: int = 0) -> CarSamples:
    g = np.random.default_rng(seed)
    geometry = configuration().geometry
    nominal = {
        'suspension': 0.0,
        'steering': 0.0,
        'camber': 0.0,
        'kingpin': 0.0,
        'half_track': np.array(geometry.half_track),
        'wheelbase': np.array(geometry.wheel_x),
    }
    joints = {
        kind: JointMotion(
            value + 0.1 * g.normal(size=(count, 4)),
            g.normal(size=(count, 4)),
            g.normal(size=(count, 4)),
        )
        for kind, value in nominal.items()
    }
    return CarSamples(
        100.0,
        0,
        np.arange(count) / 100.0,
        g.normal(size=(count, 3)),
        g.normal(size=(count, 3)),
        g.normal(size=(count, 3)),
        g.normal(size=(count, 2)),
        g.normal(size=(count, 4)),
        joints,
        1000.0 * g.normal(size=(count, 4, 6)),
    )


def projected_wrenches(tree: TreeModel, model: CarModel, samples: CarSamples) -> np.ndarray:
    """The wheel wrenches on the ten equations by the multibody code's own projection."""
    motion = floating_base_motion(
        *model._coordinates(samples),
        samples.specific_force,
        samples.angular_velocity,
        samples.angular_acceleration,
    )
    wrenches = [
        ExternalWrench(tree.frame(f'sensor_{corner}'), samples.wrench[:, j])
        for j, corner in enumerate(CORNERS)
    ]
    rows = external_rows(tree, motion, wrenches)
    return rows[:, [tree.row_names.index(name) for name in EQUATIONS]]


def test_wheel_wrenches_of_the_38_dof_model_match_its_table() -> None:
    """Signs of steering, camber and kingpin, and the place of the force, are those of Table I."""
    model, samples = CarModel(configuration(), 38), random_samples()
    np.testing.assert_allclose(
        model.matrices(samples)[1], projected_wrenches(model.tree, model, samples), rtol=1e-10
    )


def test_wheel_wrenches_of_the_20_dof_model_match_its_table() -> None:
    model, samples = CarModel(configuration(), 20), random_samples()
    still = np.zeros((len(samples), 4))
    steering = samples.joints['steering'].position.copy()
    steering[:, 2:] = 0.0  # Table III has no toe at the rear
    level = JointMotion(still, still, still)
    samples = replace(
        samples,
        joints={
            **samples.joints,
            'camber': level,
            'kingpin': level,
            'steering': JointMotion(steering, still, still),
        },
    )
    np.testing.assert_allclose(
        model.matrices(samples)[1], projected_wrenches(model.tree, model, samples), rtol=1e-10
    )


def test_both_models_agree_when_the_extra_dofs_rest() -> None:
    piece = prepare(recording(12.0), configuration()).pieces[0][:50]
    W20, Y20 = CarModel(configuration(), 20).matrices(piece)
    W38, Y38 = CarModel(configuration(), 38).matrices(piece)
    np.testing.assert_allclose(W38, W20, atol=1e-9)
    np.testing.assert_allclose(Y38, Y20, rtol=1e-12)


def test_exact_data_fulfil_the_ten_equations() -> None:
    piece = prepare(recording(20.0), configuration()).pieces[0]
    W, Y = CarModel(configuration(), 20).matrices(piece)
    residual = np.sqrt(np.square(Y - W @ TRUTH).mean(axis=0) / np.square(Y).mean(axis=0))
    assert W.shape[1:] == (10, 33)
    assert np.all(residual < 5e-3)


def test_rear_steering_counts_in_both_models() -> None:
    samples = random_samples()
    for dof in (20, 38):
        model = CarModel(configuration(), dof)
        turned = samples.joints['steering'].position.copy()
        turned[:, 2] += 0.1
        changed = replace(
            samples,
            joints={
                **samples.joints,
                'steering': replace(samples.joints['steering'], position=turned),
            },
        )
        assert np.abs(model.matrices(changed)[1] - model.matrices(samples)[1]).max() > 1.0


def test_axle_tables_move_the_wheels_of_the_38_dof_model() -> None:
    config = configuration()
    curve = AxleTable(
        (-0.1, -0.05, 0.0, 0.05, 0.1), ((-0.01,), (-0.004,), (0.0,), (0.003,), (0.004,))
    )
    tables = {'half_track': dict.fromkeys(CORNERS, curve)}
    found = compare_models(
        [recording(20.0, 1.0)],
        replace(config, axle_kinematics=tables),
        CarMethod(bias_correction=False),
    )
    assert 'Mc' not in found.disagreeing
    # A track that grows in compression moves the loads outwards: the roll equation must see it.
    roll = NAMES.index('XXc')
    assert abs(found.value_38[roll] - found.value_20[roll]) > 1e-3


def test_measured_variation_or_full_half_track_give_the_same() -> None:
    run = recording(12.0)
    series = run.joints['steering_fl']
    full = {
        f'half_track_{corner}': replace(series, values=np.full_like(series.values, width))
        for corner, width in zip(CORNERS, configuration().geometry.half_track, strict=True)
    }
    small = {name: replace(one, values=0.0 * one.values) for name, one in full.items()}
    pieces = [
        prepare(replace(run, joints={**run.joints, **extra}), configuration()).pieces[0]
        for extra in (full, small)
    ]
    for piece in pieces:
        np.testing.assert_allclose(
            piece.joints['half_track'].position[100], configuration().geometry.half_track
        )


@pytest.mark.parametrize('order', [1, 2, 4])
def test_a_sensors_low_pass_is_taken_out(order: int) -> None:
    rate, t = 200.0, np.arange(0.0, 20.0, 1.0 / 200.0)
    frequencies = np.array([0.3, 1.1, 3.7, 9.0])
    response = sensor_response(frequencies, 10.0, order)
    truth = np.sin(2.0 * np.pi * frequencies * t[:, None]).sum(axis=1)
    seen = (
        np.abs(response) * np.sin(2.0 * np.pi * frequencies * t[:, None] + np.angle(response))
    ).sum(axis=1)
    found = equalise(seen[:, None], rate, 10.0, order)[:, 0]
    middle = slice(300, -300)
    assert np.abs(seen - truth)[middle].max() > 0.3
    assert np.abs(found - truth)[middle].max() < 0.02


def test_names_and_order_of_the_contract() -> None:
    assert ' '.join(NAMES) == (
        'Mc MXc MYc MZc XXc YYc ZZc XZc XYc YZc M1 M2 M3 M4 karr karf k1 fs1 h1 off1 k2 fs2 h2 '
        'off2 k3 fs3 h3 off3 k4 fs4 h4 off4 Cx'
    )
