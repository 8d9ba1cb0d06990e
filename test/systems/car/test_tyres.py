"""Tyres: the Magic Formula and its inverse, a drive of the other simulator, what is refused."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np
import pytest

from veh_identification.errors import EstimationError
from veh_identification.runtime.share import share_directory
from veh_identification.simulation.road_car.handling import tyre_drive
from veh_identification.simulation.road_car.recording import recording_of
from veh_identification.systems.car.configuration import CarDescription, load_configuration
from veh_identification.systems.car.processing.signals import prepare
from veh_identification.systems.car.tyres import contact
from veh_identification.systems.car.tyres.contact import Contacts, known_wheels
from veh_identification.systems.car.tyres.identify import (
    Axle,
    Quantity,
    Tyres,
    identify_tyres,
)
from veh_identification.systems.car.tyres.lateral import (
    COMBINED_B2,
    SIDES,
    UNKNOWNS,
    fit_lateral,
    predicted,
    slip_share,
)
from veh_identification.systems.car.tyres.magic import (
    combined,
    cornering_stiffness,
    curve,
    friction,
    inverse_curve,
    relaxed,
)
from veh_identification.systems.car.tyres.spectral_fit import Found
from veh_identification.systems.car.tyres.study import files
from veh_identification.systems.car.tyres.tir import tir_file


def test_curve_and_inverse_agree() -> None:
    slip = np.linspace(-0.05, 0.05, 41)
    share = curve(slip, np.full(41, 20.0), np.ones(41), 1.6, -0.5)
    assert np.abs(inverse_curve(share, 1.6, -0.5) / 20.0 - slip).max() < 1e-9
    assert curve(np.array([1e-6]), np.array([20.0]), np.ones(1), 1.6, -0.5)[0] == pytest.approx(
        2e-5
    )


def test_relaxation_follows_a_step_by_its_length() -> None:
    slip = np.ones((220, 1))
    slip[:20] = 0.0
    lagged = relaxed(slip, np.full((220, 1), 10.0), 0.5, 0.005)[:, 0]
    after = 0.005 * (np.arange(220) - 19)
    # The step rises within one sample: it counts from the middle of it.
    assert np.abs(lagged[22:] - 1.0 + np.exp(-(after[22:] - 0.0025) * 20.0)).max() < 2e-3


def test_relaxation_of_a_sine_at_the_rate_of_the_fit() -> None:
    """Amplitude and phase by the equation itself, 1 / (1 + i omega length / speed)."""
    time = np.arange(400) / 50.0
    omega = 2.0 * np.pi * 3.0
    lagged = relaxed(np.sin(omega * time)[:, None], np.full((400, 1), 20.0), 0.45, 0.02)[:, 0]
    true = np.imag(np.exp(1j * omega * time) / (1.0 + 1j * omega * 0.45 / 20.0))
    assert np.abs(lagged - true)[50:-1].max() < 2e-3


def _read(text: str) -> dict[str, float]:
    """Numbers of a property file by their keys."""
    values = {}
    for line in text.splitlines():
        key, equals, rest = line.partition('=')
        if equals and not rest.strip().startswith("'"):
            values[key.strip()] = float(rest.split('$')[0])
    return values


def _sideways_by_book(p: dict[str, float], angle: float, slip: float, load: float) -> float:
    """Lateral force of MF 5.2 without camber, every term of it (Pacejka, 4.E19 to 4.E67)."""
    rated = p['LFZO'] * p['FNOMIN']
    more = (load - rated) / rated
    most = (p['PDY1'] + p['PDY2'] * more) * p['LMUY'] * load
    stiffness = p['PKY1'] * rated * np.sin(2.0 * np.arctan(load / (p['PKY2'] * rated))) * p['LKY']
    shifted = angle + (p['PHY1'] + p['PHY2'] * more) * p['LHY']
    bend = (p['PEY1'] + p['PEY2'] * more) * (1.0 - p['PEY3'] * np.sign(shifted)) * p['LEY']
    shape = p['PCY1'] * p['LCY']
    b = stiffness / (shape * most) * shifted
    lifted = load * (p['PVY1'] + p['PVY2'] * more) * p['LVY'] * p['LMUY']
    pure = most * np.sin(shape * np.arctan(b - bend * (b - np.arctan(b)))) + lifted
    width = p['RBY1'] * np.cos(np.arctan(p['RBY2'] * (angle - p['RBY3']))) * p['LYKA']
    moved, e = p['RHY1'] + p['RHY2'] * more, p['REY1'] + p['REY2'] * more

    def weight(at: float) -> float:
        x = width * at
        return float(np.cos(p['RCY1'] * np.arctan(x - e * (x - np.arctan(x)))))

    pulled = most * (p['RVY1'] + p['RVY2'] * more) * np.cos(np.arctan(p['RVY4'] * angle))
    pulled *= np.sin(p['RVY5'] * np.arctan(p['RVY6'] * slip)) * p['LVYKA']
    return float(pure * weight(slip + moved) / weight(moved) + pulled)


def _leaning_axle(road: float, noise: float) -> Contacts:
    """An axle whose camber follows its slip angle, as that of a rear axle does.

    `road`: force of the road below each wheel [N]; `noise`: of the slip angle, common [rad].
    """
    random, count, rate = np.random.default_rng(5), 8000, 50.0
    time, still = np.arange(count) / rate, np.zeros((count, 4))
    angle, other = (
        sum(
            size * np.sin(2.0 * np.pi * f * time + random.uniform(0.0, 6.3))
            for f in np.linspace(0.11, 0.93, 12)
        )
        for size in (0.006, 0.0012)
    )
    camber = np.repeat((-1.5 * (angle + other))[:, None], 4, axis=1)
    load = 4000.0 + 40000.0 * np.outer(angle, [-1.0, 1.0, -1.0, 1.0])
    exact = Contacts(
        rate,
        *(still, still, load, still),
        np.repeat(np.tan(angle)[:, None], 4, axis=1),
        camber,
        still + 20.0,
        *(None, None, still, still + 1.0),
    )
    true = {one.name: one.guess for one in UNKNOWNS}
    axle = slice(0, 4)
    pushed = np.hstack(
        [predicted(true, exact, one, 4000.0, None) for one in (slice(0, 2), slice(2, 4))]
    )
    return replace(
        exact,
        lateral=pushed[:, axle] + road * random.standard_normal((count, 4)),
        tangent=exact.tangent + noise * random.standard_normal((count, 1)),
    )


@pytest.mark.parametrize(('road', 'noise'), [(150.0, 0.0), (150.0, 0.0015), (0.0, 0.0015)])
def test_what_the_road_does_below_each_wheel_is_no_noise_of_the_slip_angle(
    road: float, noise: float
) -> None:
    """Taken for it, axles came out too stiff where their camber follows their slip angle."""
    found = fit_lateral(
        [_leaning_axle(road, noise)], slice(2, 4), 4000.0, known_wheels(CarDescription()), [None]
    )
    away = found['log_stiffness'] - np.log(15.0)
    assert abs(away) < 2.0 * found.std('log_stiffness')
    assert abs(away) < 0.02


@pytest.mark.parametrize('common', [0.0, 1.0, 3.0])
def test_share_of_the_slip_angle_by_sum_and_difference(common: float) -> None:
    random = np.random.default_rng(2)
    wheels = random.standard_normal((20000, 2)) + common * random.standard_normal((20000, 1))
    true = 2.0 * common**2 / (2.0 * common**2 + 1.0)
    assert slip_share([wheels @ SIDES], 50.0) == pytest.approx(true, abs=0.08)
    assert slip_share([np.zeros((500, 2))], 50.0) == 0.0


@lru_cache
def _driven() -> tuple[object, object]:
    # Noise of the forces made the rear stiffness of this car 6.6 % too large.
    drive = tyre_drive(5311, duration=60.0)
    config = load_configuration(share_directory() / 'config' / 'road_drive.yaml')
    return drive, config


@lru_cache
def _found() -> Tyres:
    drive, config = _driven()
    recording = recording_of(drive)
    return identify_tyres([(recording, config, prepare(recording, config))])


def test_stiffness_of_another_simulators_car() -> None:
    drive, _ = _driven()
    for axle, tyre in zip(
        _found().axles, (drive.car.tyre_front, drive.car.tyre_rear), strict=True
    ):
        load = axle.nominal
        truths = {
            'cornering_stiffness': tyre.cornering_stiffness(load),
            'slip_stiffness': tyre.longitudinal * load,
        }
        for name, truth in truths.items():
            one = axle.quantity(name)
            assert one is not None and one.told
            assert one.value == pytest.approx(truth, rel=0.03)
            assert abs(one.value - truth) < 3.0 * one.std
        relaxation = axle.quantity('relaxation_y')
        assert abs(relaxation.value - tyre.relaxation_y) < 3.0 * relaxation.std
        rolling = axle.quantity('rolling_resistance')
        assert abs(rolling.value - tyre.rolling_resistance) < 3.0 * rolling.std


def test_property_file_holds_what_was_found() -> None:
    _, config = _driven()
    written = files(_found(), config)
    assert sorted(written) == ['tyre_front.tir', 'tyre_rear.tir', 'tyres.csv']
    axle = _found().axles[0]
    values = _read(written['tyre_front.tir'].decode())
    stiffness = values['PKY1'] * values['FNOMIN'] * np.sin(2.0 * np.arctan(1.0 / values['PKY2']))
    assert stiffness == pytest.approx(-axle.quantity('cornering_stiffness').value, rel=1e-5)
    assert values['PKX1'] * values['FNOMIN'] == pytest.approx(
        axle.quantity('slip_stiffness').value, rel=1e-5
    )
    for one, place in zip(_found().axles, ('front', 'rear'), strict=True):
        content = written[f'tyre_{place}.tir'].decode().splitlines()
        for key, stands in (('PDX1', one.magic[0]), ('PDY1', one.magic[1])):
            (line,) = (line for line in content if line.startswith(key))
            assert ('+-' in line) == stands


@pytest.mark.parametrize('stands', [True, False])
def test_property_file_marks_what_was_not_reached(stands: bool) -> None:
    """Friction that is told well still counts only where the curve bends off."""
    guess = np.array([one.guess for one in UNKNOWNS])
    found = Found(UNKNOWNS, guess, np.diag([(0.1 * one.spread) ** 2 for one in UNKNOWNS]), 1.0)
    stiffness = Quantity('cornering_stiffness_front', 60e3, 900.0, 'N/rad', '')
    axle = Axle('front', 4000.0, (stiffness,), found, None, None, (0.3, 0.9), (False, stands), ())
    lines = tir_file(axle, known_wheels(CarDescription()), 0.31).splitlines()
    by_key = {line.split('=')[0].strip(): line for line in lines if '=' in line}
    assert ('+- 0.02' in by_key['PDY1']) == stands
    assert 'not identified' in by_key['PDX1'] and '= 1 ' in by_key['PDX1']
    assert '+- 0.3' in by_key['PKY1'] and '= -' in by_key['PKY1']


@pytest.mark.parametrize('load', [2500.0, 4000.0, 6000.0])
def test_property_file_gives_the_forces_of_the_fit_by_the_book(load: float) -> None:
    guess = np.array([one.guess for one in UNKNOWNS])
    found = Found(UNKNOWNS, guess, np.diag([(0.1 * one.spread) ** 2 for one in UNKNOWNS]), 1.0)
    nominal, told = 4000.0, 4000.0 * float(np.exp(found['log_stiffness']))
    stiffness = Quantity('cornering_stiffness_front', told, 900.0, 'N/rad', '')
    axle = Axle('front', nominal, (stiffness,), found, None, None, (0.3, 0.9), (False, True), ())
    values = _read(tir_file(axle, known_wheels(CarDescription()), 0.31))
    at = np.array([load])
    for angle, slip in ((0.001, 0.0), (0.06, 0.0), (-0.15, 0.03), (0.03, -0.1)):
        slope = cornering_stiffness(at, nominal, told, found['load_peak'])
        peak = at * friction(at, nominal, found['friction'], found['friction_slope'])
        ours = curve(np.array([angle]), slope, peak, found['shape'], found['curvature'])
        ours *= combined(np.array([angle]), np.array([slip]), found['combined'], COMBINED_B2)
        # Such files have the slip angle the other way round.
        assert _sideways_by_book(values, -angle, slip, load) == pytest.approx(ours[0], rel=1e-5)


def test_wheels_stand_where_their_rolling_says_and_not_the_description() -> None:
    """The description gives the rolling radius, 11 mm more than the wheel centres are high."""
    drive, config = _driven()
    recording = recording_of(drive)
    prepared = prepare(recording, config)
    wheels, load = known_wheels(config), np.full((len(prepared.pieces[0]), 4), 4000.0)
    piece = prepared.pieces[0]
    spins = contact._spin(recording, piece, config)
    found = contact._standing_radius(piece, spins, config, wheels, load)
    car = drive.car
    stiffness = 2.0 * (car.tyre_front.stiffness + car.tyre_rear.stiffness)
    true = float(np.mean(car.radius)) - car.total_mass * 9.80665 / stiffness
    assert config.geometry.wheel_radius - true > 0.008
    assert found == pytest.approx(true, abs=0.003)
    without = contact._standing_radius(piece, None, config, wheels, load)
    assert without == config.geometry.wheel_radius


def test_missing_sensors_are_named() -> None:
    drive, config = _driven()
    whole = recording_of(drive)
    without = replace(whole, wrenches={k: v for k, v in whole.wrenches.items() if k != 'rl'})
    with pytest.raises(EstimationError, match='missing: wheel_rl/wrench'):
        identify_tyres([(without, config, prepare(without, config))])
    slow = replace(whole, speed=None)
    with pytest.raises(EstimationError, match='correvit'):
        identify_tyres([(slow, config, prepare(slow, config))])


def test_wheel_mass_that_nobody_tells_is_a_doubt() -> None:
    _, config = _driven()
    told, assumed = known_wheels(config), known_wheels(CarDescription())
    assert told.told and told.mass == 20.0
    assert not assumed.told and assumed.mass_std > 3.0 * told.mass_std
