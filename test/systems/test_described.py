"""Descriptions that no machine has are named without any recording, and by whatever uses one."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from veh_identification.cli.main import main
from veh_identification.runtime.share import share_directory
from veh_identification.systems import registry
from veh_identification.systems.car.configuration import load_configuration
from veh_identification.systems.car.estimation.gathering import CarMethod
from veh_identification.systems.car.live.model import CarLiveModel
from veh_identification.systems.checking import check_descriptions, describing

CONFIG = share_directory() / 'config'
DESCRIPTIONS = (
    'buggy.yaml',
    'buggy_parking.yaml',
    'car_peugeot_406.yaml',
    'car_template.yaml',
    'road_car.yaml',
    'four_bar.yaml',
    'mechanism_four_bar.yaml',
    'mechanism_slider_crank.yaml',
    'mechanism_solid_axle.yaml',
    'hexapod_palida.yaml',
    'humanoid.yaml',
    'robot.yaml',
)


@pytest.mark.parametrize('name', DESCRIPTIONS)
def test_nothing_is_said_of_machines_that_exist(name: str) -> None:
    described = describing(CONFIG / name, None, {})
    assert not check_descriptions(described)


@pytest.mark.parametrize('name', sorted(one.name for one in (CONFIG / 'models').glob('*.urdf')))
@pytest.mark.parametrize('system', ['humanoid', 'robot'])
def test_nothing_is_said_of_robots_that_exist(name: str, system: str) -> None:
    path = CONFIG / ('humanoid.yaml' if system == 'humanoid' else 'robot.yaml')
    described = describing(path, system, {'urdf': CONFIG / 'models' / name})
    assert not check_descriptions(described)


def changed(tree: Any, where: str, change: Any) -> None:
    """Change an entry, or multiply the numbers below it."""
    tree = tree.get('car', tree)
    *folders, leaf = where.split('.')
    for one in folders:
        tree = tree.setdefault(one, {})
    tree[leaf] = scaled(tree[leaf], change[0]) if isinstance(change, tuple) else change


def scaled(tree: Any, factor: float) -> Any:
    if isinstance(tree, dict):
        return {key: scaled(value, factor) for key, value in tree.items()}
    if isinstance(tree, list):
        return [scaled(value, factor) for value in tree]
    return factor * float(tree)


@pytest.mark.parametrize(
    ('name', 'system', 'where', 'change', 'said'),
    [
        ('car_peugeot_406', 'car', 'geometry.wheelbase', 2700.0, 'wheelbase.*in mm'),
        ('car_peugeot_406', 'car', 'geometry.wheelbase', 0.0027, 'wheelbase is 0.0027 m'),
        ('car_peugeot_406', 'car', 'geometry.wheel_radius', 31.0, 'wheel_radius.*cm'),
        ('car_peugeot_406', 'car', 'gravity', 1.0, 'gravity is 1 m/s'),
        ('car_peugeot_406', 'car', 'a_priori', {'Mc': -1500.0}, 'a_priori: Mc: no such value'),
        ('car_peugeot_406', 'car', 'a_priori', {'k1': -21.0}, 'a_priori: k1: no such value'),
        ('car_peugeot_406', 'car', 'a_priori', {'Mc': 1.5e6}, 'a_priori.Mc is 1.5e.06 kg.*in g'),
        ('car_peugeot_406', 'car', 'weighed', {'total': 1.5e6}, 'weighed.total .*in g'),
        (
            'car_peugeot_406',
            'car',
            'weighed',
            {'total': 1500.0, 'front': 900.0, 'rear': 900.0},
            'make 1800 kg, and weighed.total is 1500 kg',
        ),
        ('buggy', 'vehicle', 'chassis.mass', 440e3, 'chassis.mass .*in g'),
        ('buggy', 'vehicle', 'suspension', {'front': {'stiffness': 21.0}}, 'stiffness .*in N/mm'),
        (
            'buggy',
            'vehicle',
            'suspension',
            {'rear': {'spring_top': [0.0, -300.0, 330.0]}},
            'rear.spring_top .*in mm',
        ),
        ('mechanism_four_bar', 'mechanism', 'gravity', [0.0, -1.0], 'gravity is 1 m/s.*in g'),
        ('mechanism_slider_crank', 'mechanism', 'bodies.rod.mass', 4e9, 'rod.mass .* kg'),
        ('mechanism_slider_crank', 'mechanism', 'bodies.rod.length', 150.0, 'rod: .*length in mm'),
        ('hexapod_palida', 'parallel', 'base.ring.radius', (1e3,), 'base, radius .*in mm'),
        ('hexapod_palida', 'parallel', 'platform.m', -20.0, 'platform.m: no such value'),
        ('hexapod_palida', 'parallel', 'home', [0, 0, 0.7, 0, 0, 90.0], 'home turns .*in degrees'),
        ('hexapod_palida', 'parallel', 'home', [0, 0, 70.0, 0, 0, 0.0], 'home, x y z .*cm'),
        ('humanoid', 'humanoid', 'weighed_mass', 62e3, 'weighed_mass .*in g'),
        (
            'humanoid',
            'humanoid',
            'delays',
            {'base/pose': 5.0},
            'delays.base/pose: expected a time from -1 to 1 .*found 5',
        ),
        (
            'robot',
            'robot',
            'effort_delay',
            5.0,
            'effort_delay: expected a time from -1 to 1 .*found 5',
        ),
        (
            'robot',
            'robot',
            'payloads',
            [{'recording': 'run1', 'mass': 2.0, 'centre': [0.0, 0.0, 120.0]}],
            'payloads, run1: centre .*in mm',
        ),
    ],
)
def test_check_says_no_without_a_recording(
    tmp_path: Path, capsys, name: str, system: str, where: str, change: Any, said: str
) -> None:
    tree = yaml.safe_load((CONFIG / f'{name}.yaml').read_text()) or {}
    changed(tree, where, change)
    path = tmp_path / 'mine.yaml'
    path.write_text(yaml.safe_dump(tree))
    main(['check', str(path), '--system', system, '--strict'])
    told = capsys.readouterr()
    assert re.search(said, told.out + told.err), told.out + told.err
    assert 'verdict: Yes' not in told.out


@pytest.mark.parametrize(
    ('pattern', 'factor', 'said'),
    [
        (r'(xyz=")([^"]+)(")', 1e3, 'lengths in mm or cm'),
        (r'(<mass value=")([^"]+)(")', 1e3, 'masses in g'),
    ],
)
@pytest.mark.parametrize('system', ['humanoid', 'robot'])
@pytest.mark.parametrize('name', ['arm_6_axis', 'ut_mu2_like'])
def test_a_urdf_in_other_units_is_named(
    tmp_path: Path, name: str, system: str, pattern: str, factor: float, said: str
) -> None:
    def times(match: re.Match[str]) -> str:
        numbers = ' '.join(f'{factor * float(one):.9g}' for one in match[2].split())
        return match[1] + numbers + match[3]

    text = (CONFIG / 'models' / f'{name}.urdf').read_text()
    path = tmp_path / 'mine.urdf'
    path.write_text(re.sub(pattern, times, text))
    plain = CONFIG / ('humanoid.yaml' if system == 'humanoid' else 'robot.yaml')
    found = check_descriptions(describing(plain, system, {'urdf': path}))
    assert [one.level for one in found] in (['bad'], ['warn']) and said in found[0].text


def test_a_live_estimate_says_what_its_description_is(tmp_path: Path) -> None:
    path = tmp_path / 'mine.yaml'
    path.write_text('geometry: {wheelbase: 2700.0, half_track: 0.75, wheel_radius: 0.3}\n')
    model = CarLiveModel(load_configuration(path), CarMethod(), significance=1e-5, seconds=15.0)
    assert [one.where for one in model.findings() if one.code == 'unit'] == ['geometry.wheelbase']


def test_every_system_may_be_asked() -> None:
    for entry in registry.SYSTEMS:
        system = registry.load(entry)
        if system.config_optional and system.name not in ('humanoid', 'robot'):
            assert not [
                one for one in system.described(system.configure(None)) if one.level == 'bad'
            ]
