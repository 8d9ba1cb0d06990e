"""Numbers as text."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def number(value: float, digits: int = 4) -> str:
    """A number with so many significant digits, without an exponent where it can be avoided."""
    if not np.isfinite(value):
        return '-'
    if value == 0.0:
        return '0'
    size = abs(value)
    if 1e-4 <= size < 1e7:
        decimals = max(digits - 1 - int(np.floor(np.log10(size))), 0)
        return f'{value:.{decimals}f}'
    return f'{value:.{digits - 1}e}'


def plain(value: float) -> str:
    """A number as somebody wrote it down: five digits, no zeros added."""
    if not np.isfinite(value):
        return '-'
    return '0' if abs(value) < 1e-15 else f'{value:.5g}'  # what rounding left of nothing


def beside(value: float, std: float) -> str:
    """A value to the decimals that its standard deviation supports (two digits of it)."""
    if not (np.isfinite(value) and np.isfinite(std) and std > 0.0) or abs(value) >= 1e7:
        return number(value)
    last = int(np.floor(np.log10(std))) - 1
    if last < -5 and abs(value) < 1e-3:  # as `number` writes such a deviation
        first = int(np.floor(np.log10(max(abs(value), std))))
        return f'{value:.{first - last}e}'
    return f'{value:.{max(-last, 0)}f}'


def unit(text: str) -> str:
    """A unit with raised powers: kg m^2 becomes kg m²."""
    return text.replace('^2', '²').replace('^3', '³')


def percent(share: float, digits: int = 2) -> str:
    """A share of one in percent."""
    return '-' if not np.isfinite(share) else f'{number(100.0 * share, digits)} %'


def listed(names: Sequence[str], most: int = 6) -> str:
    """`a, b and c`; long lists end with how many more there are."""
    shown = list(names[:most])
    if len(names) > most:
        return f'{", ".join(shown)} and {len(names) - most} more'
    if len(shown) < 2:
        return ''.join(shown)
    return f'{", ".join(shown[:-1])} and {shown[-1]}'


def counted(count: int, singular: str, plural: str = '') -> str:
    """`1 gap`, `2 gaps`."""
    return f'{count} {singular if count == 1 else plural or singular + "s"}'


def sentence(text: str) -> str:
    """A finding as a sentence: capital letter unless it starts with a name, full stop."""
    text = text.strip()
    first = text.split(' ', 1)[0]
    if first.isalpha() and first.islower():
        text = text[:1].upper() + text[1:]
    return text if text.endswith(('.', '!', '?')) else text + '.'
