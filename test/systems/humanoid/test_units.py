"""Which units of angles are tried: those that the positions can be in."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
from humanoid_cases import true_robot

from veh_identification.systems.humanoid.checks.hypotheses import joints

MODEL = true_robot().model()
COUNT = len(MODEL.coordinate_names)
#: Half a step to and fro, as a leg does [rad].
MOTION = 0.4 * np.sin(np.linspace(0.0, 20.0, 400))[:, None] * np.ones(COUNT)


def in_degrees(positions) -> list[str]:
    """Where degrees are thought of."""
    raw = SimpleNamespace(joints=positions)
    return [
        one.where for one in joints(raw, MODEL) if one.code == 'unit' and 'degrees' in one.text
    ]


def test_a_joint_that_would_all_but_stand_is_not_thought_to_be_in_degrees() -> None:
    # That would only take its noise away, which fits better whatever its unit is.
    assert in_degrees(MOTION) == []
    wild = MOTION.copy()
    wild[::6] += 500.0  # what stamps of arrival make of a sixth of the states
    wild[3] = np.nan
    assert in_degrees(wild) == []


def test_joints_in_degrees_are_thought_of_also_from_the_middle_on() -> None:
    name = MODEL.coordinate_names[3]
    for begin in (0, len(MOTION) // 2):
        one = MOTION.copy()
        one[begin:, 3] = np.degrees(one[begin:, 3])
        assert in_degrees(one) == [
            'topic joint_states, position',
            f'topic joint_states, joint {name}',
        ]
    assert len(in_degrees(np.degrees(MOTION))) == 1 + COUNT


def test_turns_are_always_thought_of() -> None:
    raw = SimpleNamespace(joints=MOTION / (2.0 * np.pi))
    told = [one for one in joints(raw, MODEL) if one.code == 'unit' and 'turns' in one.text]
    assert len(told) == 1 + COUNT


def test_a_robot_whose_joints_all_stand_has_no_joint_to_be_wrong() -> None:
    still = true_robot().model(dict.fromkeys(MODEL.coordinate_names, 0.0))
    assert list(still.coordinate_names) == []
    raw = SimpleNamespace(joints=np.zeros((len(MOTION), 0)))
    assert not [one for one in joints(raw, still) if 'joint ' in one.where]
