"""Tables of people's segments, names of links, and links that nobody would believe."""

from types import SimpleNamespace

import numpy as np
import pytest

from veh_identification.errors import ModelError
from veh_identification.systems.humanoid.estimation.anthropometry import (
    LIMBS,
    TABLES,
    other_side,
    segment_masses,
    segment_of,
)
from veh_identification.systems.humanoid.estimation.prior import link_prior
from veh_identification.systems.humanoid.results.findings import implausible_links

SIDES = [f'{part}_{side}' for side in 'lr' for part in ('femur', 'tibia', 'calcn', 'toes')]
ARMS = [f'{part}_{side}' for side in 'lr' for part in ('humerus', 'ulna', 'radius')]


def robot(names, masses=None):
    masses = [1.0] * len(names) if masses is None else masses
    parameters = {
        name: np.array([m, 0.0, 0.0, 0.1 * m, 0.02 * m, 0.0, 0.0, 0.02 * m, 0.0, 0.01 * m])
        for name, m in zip(names, masses, strict=True)
    }
    return SimpleNamespace(path='p.urdf', massive=tuple(names), parameters=parameters)


@pytest.mark.parametrize('table', sorted(TABLES))
def test_tables_add_up_to_a_whole_person(table) -> None:
    shares = TABLES[table]
    whole = sum(one * (2.0 if segment in LIMBS else 1.0) for segment, one in shares.items())
    assert whole == pytest.approx(100.0, abs=0.02)


@pytest.mark.parametrize(
    ('link', 'segment', 'twin'),
    [
        ('femur_r', 'thigh', 'femur_l'),
        ('LeftUpperLeg', 'thigh', 'RightUpperLeg'),
        ('RightForeArm', 'forearm', 'LeftForeArm'),
        ('l_hand', 'hand', 'r_hand'),
        ('calcn_l', 'foot', 'calcn_r'),
        ('left_shin', 'shank', 'right_shin'),
        ('T8', 'trunk', 'T8'),
        ('L5', 'trunk', 'L5'),
        ('torso', 'trunk', 'torso'),
        ('Head', 'head', 'Head'),
        ('lamp', '', 'lamp'),
    ],
)
def test_names_tell_segment_and_side(link, segment, twin) -> None:
    assert (segment_of(link), other_side(link)) == (segment, twin)


def test_links_share_their_segment_and_missing_ones_go_to_the_neighbour() -> None:
    masses = segment_masses(robot(['pelvis', 'torso', *SIDES, *ARMS]), 'winter')
    total = 16.0
    assert sum(masses.values()) == pytest.approx(total)
    assert masses['femur_l'] == pytest.approx(0.1 * total)
    assert masses['calcn_r'] + masses['toes_r'] == pytest.approx(0.0145 * total)
    # No hands: their mass is that of the forearms; no head: that of the trunk.
    assert masses['ulna_l'] + masses['radius_l'] == pytest.approx(0.022 * total)
    assert masses['pelvis'] + masses['torso'] == pytest.approx((0.081 + 0.497) * total)


def test_a_link_without_a_name_that_says_anything_is_refused() -> None:
    with pytest.raises(ModelError, match='which segment of a person is the link "lamp"'):
        segment_masses(robot(['pelvis', 'lamp']), 'winter')
    with pytest.raises(ModelError, match='there is no link of the trunk'):
        segment_masses(robot(['head']), 'winter')


def test_the_prior_takes_masses_of_the_table_and_places_of_the_urdf() -> None:
    given = robot(['pelvis', 'torso', *SIDES, *ARMS])
    plain, table = link_prior(given, 40.0), link_prior(given, 40.0, 'de-leva-female')
    assert table.mass.sum() == pytest.approx(plain.mass.sum())
    share = table.mass / plain.mass
    values = table.value.reshape(-1, 10)
    np.testing.assert_allclose(values, plain.value.reshape(-1, 10) * share[:, None])
    np.testing.assert_allclose(table.length, plain.length)
    assert table.std[0] == pytest.approx(0.15 * table.mass[0])
    assert plain.std[0] == pytest.approx(0.4 * plain.mass[0])


def fit(masses: dict[str, float], load: float = 1.0):
    names, values = tuple(masses), np.array(list(masses.values()))
    parameters = np.zeros((len(names), 10))
    parameters[:, 0] = values
    known = SimpleNamespace(links=names, mass=np.full(len(names), 4.0 / load), load=load)
    return SimpleNamespace(links=names, parameters=parameters), known


def test_a_link_of_a_third_of_its_mass_and_unlike_sides_are_named() -> None:
    good = {'torso': 4.4, 'femur_l': 4.0, 'femur_r': 3.6, 'tibia_l': 3.9, 'tibia_r': 4.1}
    assert implausible_links(*fit(good, 2.0)) == []
    (found,) = implausible_links(*fit({**good, 'tibia_l': 1.3, 'femur_r': 2.4}))
    assert (found.level, found.code) == ('warn', 'links_implausible')
    assert 'tibia_l 1.3 kg (4 kg by the URDF' in found.text
    assert 'femur_l 4 kg, femur_r 2.4 kg' in found.text
    assert 'torso' not in found.text
