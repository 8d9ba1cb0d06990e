"""Masses of a person's segments as shares of the weight, by published tables.

de Leva (1996), Journal of Biomechanics 29(9), table 4, after Zatsiorsky and Seluyanov; Winter,
Biomechanics and Motor Control of Human Movement, table 4.1, after Dempster. Left and right sides
are alike in both.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np

from veh_identification.errors import ModelError
from veh_identification.systems.humanoid.robot import Robot
from veh_identification.types import Array

#: Shares of the weight in percent; limbs: of one side. The trunk reaches from neck to hips.
TABLES: Mapping[str, Mapping[str, float]] = {
    'de-leva-male': {
        'head': 6.94,
        'trunk': 43.46,
        'upper arm': 2.71,
        'forearm': 1.62,
        'hand': 0.61,
        'thigh': 14.16,
        'shank': 4.33,
        'foot': 1.37,
    },
    'de-leva-female': {
        'head': 6.68,
        'trunk': 42.57,
        'upper arm': 2.55,
        'forearm': 1.38,
        'hand': 0.56,
        'thigh': 14.78,
        'shank': 4.81,
        'foot': 1.29,
    },
    'winter': {
        'head': 8.1,
        'trunk': 49.7,
        'upper arm': 2.8,
        'forearm': 1.6,
        'hand': 0.6,
        'thigh': 10.0,
        'shank': 4.65,
        'foot': 1.45,
    },
}
#: How links are called, the first that fits.
NAMES = (
    ('hand', r'hand|finger|thumb|palm|wrist'),
    ('forearm', r'fore_?arm|lower_?arm|ulna|radius|elbow'),
    ('upper arm', r'upper_?arm|humerus|(^|_)arm'),
    ('foot', r'foot|toe|calcn|talus|heel|ankle|metatars'),
    ('shank', r'shank|shin|tibia|lower_?leg|patella|calf|knee'),
    ('thigh', r'thigh|femur|upper_?leg|(^|_)hip'),
    ('head', r'head|neck|skull|jaw'),
    (
        'trunk',
        r'pelvis|torso|trunk|chest|thorax|spine|lumbar|abdomen|back|shoulder|clavicle|scapula|waist'
        r'|^l[1-5]$|^t([1-9]|1[0-2])$',
    ),
)
LIMBS = frozenset(('upper arm', 'forearm', 'hand', 'thigh', 'shank', 'foot'))
#: Where the mass of a segment is that no link stands for.
NEXT = {'hand': 'forearm', 'forearm': 'upper arm', 'foot': 'shank', 'shank': 'thigh'}
NEXT |= {'head': 'trunk', 'upper arm': 'trunk', 'thigh': 'trunk'}
#: Share by which persons differ from such tables.
DEVIATION = 0.15


def segment_of(link: str) -> str:
    """The segment that a link belongs to, by its name; empty if that tells nothing."""
    plain = re.sub(r'(?<=[a-z])(?=[A-Z])', '_', link).lower()
    return next((segment for segment, words in NAMES if re.search(words, plain)), '')


def other_side(link: str) -> str:
    """The name of the link on the other side; the link's own if it has no side."""
    swaps = {'left': 'right', 'right': 'left', 'l': 'r', 'r': 'l'}

    def swapped(match: re.Match[str]) -> str:
        word = match.group(0)
        other = swaps[word.lower()]
        return other.capitalize() if word[0].isupper() else other

    # left_foot, LeftFoot, foot_left; l_foot, foot_l, LFoot is too doubtful.
    words = r'[Ll]eft(?![a-z])|[Rr]ight(?![a-z])'
    letters = r'(?<![A-Za-z])[LRlr](?=[_.\-])|(?<=[_.\-])[LRlr](?![A-Za-z])'
    return re.sub(f'{words}|{letters}', swapped, link, count=1)


def segment_masses(robot: Robot, table: str) -> dict[str, float]:
    """Mass of every link by the table, for a person of the URDF's weight.

    Links of one segment share its mass as they do in the URDF.
    """
    masses = {name: float(robot.parameters[name][0]) for name in robot.massive}
    segments = {name: segment_of(name) for name in masses}
    strange = [name for name, segment in segments.items() if not segment]
    if strange:
        raise ModelError(
            f'{robot.path}: anthropometry: which segment of a person is the link "{strange[0]}"? '
            'Its name says nothing (expected names like thigh, femur, lower_leg, hand)'
        )
    share = _shares(TABLES[table], sorted(set(segments.values())), robot.path)
    total = sum(masses.values())
    found = {}
    for name, segment in segments.items():
        whole = sum(m for other, m in masses.items() if segments[other] == segment)
        sides = 2.0 if segment in LIMBS else 1.0
        found[name] = total * sides * share[segment] * masses[name] / whole
    return found


def _shares(table: Mapping[str, float], present: Sequence[str], path: str) -> dict[str, float]:
    """Shares of the segments that are there; what has no link goes to its neighbour."""
    found = dict.fromkeys(present, 0.0)
    for segment, percent in table.items():
        place = segment
        while place not in found:
            if place not in NEXT:
                raise ModelError(f'{path}: anthropometry: there is no link of the {place}')
            place = NEXT[place]
        # From a limb to the trunk both sides go.
        sides = 2.0 if segment in LIMBS and place not in LIMBS else 1.0
        found[place] += 0.01 * sides * percent
    whole = sum(found[s] * (2.0 if s in LIMBS else 1.0) for s in found)
    return {segment: one / whole for segment, one in found.items()}


def scales(robot: Robot, table: str) -> Array:
    """Factors (links,) on the URDF's values of the links with mass."""
    wanted = segment_masses(robot, table)
    return np.array([wanted[n] / robot.parameters[n][0] for n in robot.massive])
