"""Joints of a mapping file: which recorded joint or column becomes which joint, in which unit."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from veh_identification.configuration.models import Model, entry
from veh_identification.configuration.quantities import Text
from veh_identification.errors import InputError
from veh_identification.runtime import messages
from veh_identification.runtime.terms import Term, read_term

JOINT_STATE = 'sensor_msgs/msg/JointState'
FIELDS = ('position', 'velocity', 'effort')


@dataclass(frozen=True)
class JointRule(Model):
    """Where position, velocity and effort of a joint come from."""

    schema_changes: ClassVar[Mapping[str, Any]] = {'type': ['object', 'string']}
    position: Text = entry('', 'a recorded joint or column, or factor or unit * joint')
    velocity: Text = entry('', 'likewise')
    effort: Text = entry('', 'likewise')
    whole: Text = entry('', 'all three of a recorded joint; of a table the position')

    @classmethod
    def prepared(cls, data: Any) -> Any:
        """A mere text is the whole joint."""
        return {'whole': data} if isinstance(data, str) else data

    def __post_init__(self) -> None:
        if not any(getattr(self, name) for name in (*FIELDS, 'whole')):
            raise ValueError('expected position, velocity or effort')
        self.terms()  # for its checks

    def terms(self, of_table: bool = False) -> dict[str, Term]:
        """By field. An effort goes along with the sign of its joint, not with its unit."""
        found = {}
        if self.whole:
            term = read_term(self.whole, 'joint.position')
            found['position'] = term
            if not of_table:
                found['velocity'] = term
                found['effort'] = Term(math.copysign(1.0, term.factor), term.source)
        for name in FIELDS:
            if getattr(self, name):
                found[name] = read_term(getattr(self, name), f'joint.{name}')
        return found


class JointRenaming:
    """Renames and scales joints of JointState messages; remembers which of them it met."""

    def __init__(self, rules: Mapping[str, JointRule]) -> None:
        self.terms = {target: rule.terms() for target, rule in rules.items()}
        self.sources = {term.source for one in self.terms.values() for term in one.values()}
        self.met: dict[str, None] = {}

    def convert(self, message: Any) -> Any:
        """The message with the joints that rules name renamed, the others as they are."""
        if messages.type_name(message) != JOINT_STATE:
            raise InputError(f'joints can be renamed in {JOINT_STATE} only')
        names = [str(name) for name in message.name]
        self.met.update(dict.fromkeys(names))
        place = {name: k for k, name in enumerate(names)}
        rest = [name for name in names if name not in self.sources and name not in self.terms]
        known = [
            target
            for target, terms in self.terms.items()
            if any(term.source in place for term in terms.values())
        ]
        return messages.new(
            JOINT_STATE,
            header=message.header,
            name=[*known, *rest],
            **{
                field: self._values(field, getattr(message, field), place, known, rest)
                for field in FIELDS
            },
        )

    def _values(
        self, field: str, given: Any, place: Mapping[str, int], known: list[str], rest: list[str]
    ) -> Any:
        if not len(given):
            return np.zeros(0)

        def value(name: str, factor: float) -> float:
            at = place.get(name, len(given))
            return factor * float(given[at]) if at < len(given) else math.nan

        terms = [self.terms[target].get(field) for target in known]
        renamed = [math.nan if one is None else value(one.source, one.factor) for one in terms]
        return np.array([*renamed, *(value(name, 1.0) for name in rest)])

    def refuse_what_was_not_met(self, topic: str) -> None:
        """A rule for a joint that no message names is a misspelt one."""
        missing = sorted(self.sources - set(self.met))
        if missing:
            raise InputError(
                f'topic {topic}: no message names the joint {", ".join(missing)}, only '
                f'{", ".join(self.met) or "none"}'
            )
