"""`veh-id reproduce`: every table and figure of the five papers beside ours."""

from __future__ import annotations

import importlib
from difflib import get_close_matches

from veh_identification.errors import UsageError
from veh_identification.reproduce.paper import Paper

#: Papers by the module that holds them; each module has one `PAPER`.
NAMES = ('venture2006', 'venture2002', 'abdellatif', 'sinigaglia', 'ayusawa')


def papers() -> list[Paper]:
    """All of them, in the order of the documents."""
    found = [importlib.import_module(f'veh_identification.reproduce.{name}') for name in NAMES]
    return [module.PAPER for module in found]


def find_paper(name: str) -> Paper:
    """The paper of a name or of one of its other names."""
    known = papers()
    for paper in known:
        if name.lower() in (paper.name, *paper.aliases):
            return paper
    words = [word for paper in known for word in (paper.name, *paper.aliases)]
    near = get_close_matches(name.lower(), words, 1, 0.5)
    hint = f'did you mean {near[0]}? ' if near else ''
    raise UsageError(
        f'there is no paper {name!r}; {hint}there are: {", ".join(one.name for one in known)}'
    )
