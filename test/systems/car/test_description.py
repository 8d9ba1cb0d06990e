"""One description of a car: both halves of it, what follows from what, and identified.yaml."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from car_cases import configuration, driven

from veh_identification.configuration.faults import ConfigurationError
from veh_identification.configuration.reading import parse
from veh_identification.systems.car.configuration import load_configuration, parse_configuration
from veh_identification.systems.car.description.axle_motion import motion_ratio
from veh_identification.systems.car.description.conversion import parameters_of, unsprung
from veh_identification.systems.car.description.identified import identified_description
from veh_identification.systems.car.description.model import CarDescription
from veh_identification.systems.car.estimation.gathering import CarMethod
from veh_identification.systems.car.estimation.identify import identify_recordings
from veh_identification.systems.car.parameters import CORNERS, NAMES
from veh_identification.systems.vehicle.loading import load
from veh_identification.systems.vehicle.model import forces
from veh_identification.systems.vehicle.model.vehicle import Inputs, Vehicle
from veh_identification.systems.vehicle.recording.mounting import given_poses

CONFIG = Path(__file__).resolve().parents[3] / 'config'
PEUGEOT = CONFIG / 'car_peugeot_406.yaml'


def test_every_packaged_car_serves_identification_and_observer() -> None:
    for name in ('car_peugeot_406', 'car_template', 'buggy', 'buggy_parking', 'road_car'):
        path = CONFIG / f'{name}.yaml'
        offline, observed = load_configuration(path), load(path)
        assert offline.name == observed.name
        assert offline.geometry == observed.geometry, name
        assert offline.gravity == observed.gravity


def test_parameters_become_parts_and_parts_the_same_parameters() -> None:
    found = parameters_of(load(PEUGEOT))
    for name, value in load_configuration(PEUGEOT).a_priori.items():
        assert found[name] == pytest.approx(value, rel=1e-9, abs=1e-9), name


def test_parts_become_parameters() -> None:
    buggy = load_configuration(CONFIG / 'buggy.yaml')
    # Two thirds of the wishbones, and the rack, count for the body.
    assert buggy.a_priori['Mc'] == pytest.approx(440.0 + 4.0 + 4 * 6.0 * 2 / 3)
    assert buggy.a_priori['M1'] == pytest.approx(7.0 + 6.0 / 3)
    assert buggy.a_priori['Cx'] == 0.55
    assert buggy.provenance['a_priori.k1'].startswith('suspension.front.stiffness')
    assert set(NAMES) - set(buggy.a_priori) == {
        f'{kind}{j}' for kind in ('fs', 'off') for j in (1, 2, 3, 4)
    }


def test_mass_and_inertia_at_the_centre_or_at_the_origin(tmp_path: Path) -> None:
    centre, origin = tmp_path / 'centre.yaml', tmp_path / 'origin.yaml'
    geometry = 'geometry: {wheelbase: 2.6, half_track: 750 mm}\nbase: road_car.yaml\n'
    centre.write_text(
        geometry + 'chassis: {mass: 1.3 t, centre: {x: 1.4, y: 0.01, z: 0.2}, '
        'inertia: {xx: 500, xy: 12, xz: -30, yy: 2100, zz: 2300}}\n'
    )
    parameters = load_configuration(centre).a_priori
    names = ('Mc', 'MXc', 'MYc', 'MZc', 'XXc', 'YYc', 'ZZc', 'XZc', 'XYc', 'YZc')
    values = ', '.join(f'{name}: {parameters[name]!r}' for name in names)
    origin.write_text(f'{geometry}a_priori: {{{values}}}\n')
    # The base has a chassis too, but the file's own parameters are nearer.
    one, other = load(centre).chassis, load(origin).chassis
    for field in fields(one):
        expected = getattr(one, field.name)
        assert getattr(other, field.name) == pytest.approx(expected, rel=1e-9, abs=1e-9)
    # Products are matrix entries: XY = -integral of x y dm, by Steiner -m x y more.
    assert parameters['XYc'] == pytest.approx(12.0 - 1300.0 * 1.4 * 0.01, abs=1e-6)


def test_the_nearer_file_wins(tmp_path: Path) -> None:
    (tmp_path / 'identified.yaml').write_text('a_priori: {Mc: 1400, MXc: 2000}\n')
    mine = tmp_path / 'mine.yaml'
    mine.write_text('base: identified.yaml\nchassis: {mass: 900}\n')
    assert load(mine).chassis.mass == 900.0
    assert load_configuration(mine).a_priori['Mc'] == pytest.approx(900.0, abs=40.0)
    mine.write_text('base: buggy.yaml\na_priori: {Mc: 1400, MXc: 2000}\n')
    assert load(mine).chassis.mass == pytest.approx(1400.0, abs=40.0)
    assert load_configuration(mine).a_priori['Mc'] == 1400.0


def test_tracks_of_a_base_are_replaced_in_any_form(tmp_path: Path) -> None:
    mine = tmp_path / 'mine.yaml'
    for form, expected in (
        ('track: 1500 mm', (0.75, 0.75, 0.75, 0.75)),
        ('track_front: 1.5', (0.75, 0.75, 0.77, 0.77)),
        ('half_track_rear: 0.7', (0.78, 0.78, 0.70, 0.70)),
        ('half_track: {fr: 0.7}', (0.78, 0.70, 0.77, 0.77)),
        ('half_track: [0.71, 0.72, 0.73, 0.74]', (0.71, 0.72, 0.73, 0.74)),
        ('half_track_rl: 0.7', (0.78, 0.78, 0.70, 0.77)),
    ):
        mine.write_text(f'base: road_car.yaml\ngeometry: {{{form}}}\n')
        assert load(mine).geometry.half_track == pytest.approx(expected), form


def test_what_is_not_known_is_the_examples_scaled_and_said() -> None:
    car = load(PEUGEOT)
    factor = 1508.5 / load_configuration(CONFIG / 'road_car.yaml').a_priori['Mc']
    assert car.tyre.stiffness == pytest.approx(factor * 220000.0)
    assert car.tyre.cornering == 13.0
    told = car.provenance
    assert told['tyre.stiffness'] == f'road_car.yaml, times {factor:.3f} for the mass'
    assert told['tyre.cornering'] == told['air.drag'] == 'road_car.yaml'
    assert 'a_priori.k1 and k2' in told['suspension.front.stiffness']
    assert 'geometry.wheelbase' not in told and 'sensors.imu.position' not in told
    given = given_poses(load(PEUGEOT))
    assert given.own == {'imu'} and given.packaged == {'gps'}
    assert load(CONFIG / 'buggy.yaml').provenance is None


def test_parameters_that_no_body_has_do_not_become_parts(tmp_path: Path) -> None:
    path = tmp_path / 'car.yaml'
    path.write_text('a_priori: {Mc: 1400, MXc: 2000, MZc: 0, XXc: 10, YYc: 3000, ZZc: 9000}\n')
    car = load(path)
    assert car.chassis.mass == pytest.approx(1400.0, abs=40.0)
    assert car.provenance['chassis.inertia'].startswith('road_car.yaml')
    path.write_text('a_priori: {Mc: -96, k1: -5}\n')
    assert load(path).provenance['suspension.front.stiffness'] == 'road_car.yaml'


def wheel_rate(car: CarDescription, corner: str) -> float:
    """Load over travel of a wheel of the multibody model at rest, under a little more gravity."""
    change = 1.01
    # Tyres that stand still would hold the wheels sideways, while the track follows the travel.
    car = replace(car, tyre=replace(car.tyre, cornering=1e-9, slow_damping=0.0))
    design, heavy = Vehicle(car), Vehicle(replace(car, gravity=change * car.gravity))
    heavy._suspension[:], heavy._tyres[:] = design._suspension, design._tyres
    for _ in range(600):
        heavy.step(0.01, Inputs())
    assert np.abs(heavy.model.zd[[2, 4, 5, 10, 11, 12, 13]]).max() < 1e-8  # wheels may creep
    index = heavy.model.body_index
    body, hub = np.empty((3, 12)), np.empty((3, 12))
    heavy.model.body_view(index['chassis'], body)
    heavy.model.body_view(index[f'hub_{corner}'], hub)
    travel = (hub[0, :3] - body[0, :3]) @ body[0, 9:12]
    place = CORNERS.index(corner)
    load_change = heavy.report[place, forces.LOAD] - design.static_loads[place]
    below = (car.wheel.mass + unsprung(car)) * (change - 1.0) * car.gravity
    return float((load_change - below) / travel)


def test_springs_have_the_identified_rate_at_the_wheel() -> None:
    car = load(PEUGEOT)
    assert wheel_rate(car, 'fl') == pytest.approx(20600.0, rel=0.005)
    assert wheel_rate(car, 'rr') == pytest.approx(22000.0, rel=0.005)


def test_motion_ratio_is_that_of_the_multibody_model() -> None:
    car = load()
    vehicle = Vehicle(car)
    ratio = motion_ratio(car.suspension.front)
    z = vehicle.model.z.copy()
    travel = 0.01
    z[10:14] = vehicle.model.q[vehicle.strokes]
    assert ratio.slope == pytest.approx(0.60, abs=0.01)
    compression = ratio.slope * travel + 0.5 * ratio.curvature * travel**2
    z[10] -= compression
    vehicle.model.assemble(z, np.zeros(14))
    body, hub = np.empty((3, 12)), np.empty((3, 12))
    vehicle.model.body_view(vehicle.model.body_index['chassis'], body)
    vehicle.model.body_view(vehicle.model.body_index['hub_fl'], hub)
    rise = (hub[0, :3] - body[0, :3]) @ body[0, 9:12]
    assert rise == pytest.approx(travel, rel=1e-3)


@pytest.fixture(scope='module')
def identified(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, object]:
    run, _ = driven(0, 15.0)
    result = identify_recordings([run], configuration(), CarMethod(bias_correction=False)).result
    path = tmp_path_factory.mktemp('result') / 'identified.yaml'
    path.write_text(identified_description(configuration(), result), encoding='utf-8')
    return path, result


def test_identified_values_go_into_every_command(identified) -> None:
    path, result = identified
    offline, observed = load_configuration(path), load(path)
    given = configuration()
    assert (offline.name, offline.geometry) == (given.name, given.geometry)
    assert offline.sensors == given.sensors
    for k, name in enumerate(result.names):
        assert offline.a_priori[name] == pytest.approx(result.value[k], rel=1e-8), name
        assert offline.a_priori_std[name] == pytest.approx(result.std[k], rel=1e-8), name
    value = dict(zip(result.names, result.value, strict=True))
    back = parameters_of(observed)
    for name in ('Mc', 'MXc', 'MYc', 'MZc', 'XXc', 'YYc', 'ZZc', 'XZc', 'XYc', 'YZc', 'Cx'):
        assert back[name] == pytest.approx(value[name], rel=1e-7, abs=1e-6), name
    assert back['k1'] == pytest.approx(0.5 * (value['k1'] + value['k2']), rel=1e-7)
    assert back['h4'] == pytest.approx(0.5 * (value['h3'] + value['h4']), rel=1e-7)
    assert back['karf'] == pytest.approx(value['karf'], rel=1e-7)
    assert back['M2'] == pytest.approx(np.mean([value[f'M{j}'] for j in (1, 2, 3, 4)]), rel=1e-7)
    assert observed.air.point == (0.0, 0.0, 0.0)
    assert given_poses(load(path)).own == {'imu'}
    assert np.all(Vehicle(observed).static_loads > 0.0)


def test_identified_file_explains_itself(identified) -> None:
    path, result = identified
    lines = path.read_text('utf-8').splitlines()
    assert max(map(len, lines)) <= 99
    place = next(k for k, line in enumerate(lines) if line.strip().startswith('Mc: '))
    told = lines[place - 1] + lines[place]
    assert 'mass of the chassis' in told and '[kg]; identified, +-' in told
    # Identified anew from its own description, nothing but the a-priori values differs.
    again = identified_description(load_configuration(path), result)
    assert parse(again, 'x').data == parse('\n'.join(lines), 'x').data


def test_identified_parts_of_the_observers_half_are_replaced(identified) -> None:
    _, result = identified
    buggy = load_configuration(CONFIG / 'buggy.yaml')
    data = parse(identified_description(buggy, result), 'x').data
    assert 'stiffness' not in data['suspension']['front'] and 'mass' not in data['chassis']
    assert data['tyre']['cornering'] == 14.0 and data['wheel']['mass'] == 14.0


def test_values_that_cannot_exist_are_left_out(identified) -> None:
    _, result = identified
    result = replace(result, impossible=['XXc'], value=result.value.copy())
    result.value[result.index('Cx')] = np.nan
    text = identified_description(parse_configuration({'name': 'x'}), result)
    assert '# Not identified, or of a value that cannot exist: XXc [kg m^2], Cx' in text
    assert not {'XXc', 'Cx'} & set(parse(text, 'x').data['a_priori'])


def test_deviations_are_not_negative() -> None:
    with pytest.raises(ConfigurationError, match=r'a_priori_std\.Mc: expected a number of at lea'):
        parse_configuration({'a_priori_std': {'Mc': -1}})
