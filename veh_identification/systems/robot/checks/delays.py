"""A delay of the efforts at the limit of what is looked for: it is a longer one, or none."""

from __future__ import annotations

from veh_identification.findings import Finding

#: Share of the longest delay that is looked for, from which on the search has ended at its limit.
AT_THE_LIMIT = 0.999


def delay_at_its_limit(value: float, longest: float, topic: str) -> list[Finding]:
    """Nothing can be used then; `value` and `longest` in seconds."""
    if not abs(value) > AT_THE_LIMIT * longest:
        return []
    text = (
        f'{topic}.effort comes {1e3 * abs(value):.3g} ms or more '
        f'{"later" if value > 0.0 else "earlier"} than {topic}.position, the most that is looked '
        'for: a filter or a buffer of its own, or stamps of another clock: put that right, or set '
        '`effort_delay` to what it is'
    )
    return [Finding('bad', 'effort_delay', text, f'{topic}.effort')]
