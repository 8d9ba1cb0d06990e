"""A page of tables, figures and text as one HTML file that needs nothing else."""

from __future__ import annotations

import base64
import json
import re
import zlib
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader
from markupsafe import Markup, escape
from plotly.offline import get_plotlyjs

from veh_identification._version import __version__
from veh_identification.atomic import write_text
from veh_identification.findings import Level
from veh_identification.reporting.figures.style import Figure
from veh_identification.reporting.first_screen import FirstScreen
from veh_identification.reporting.palette import THEMES


@dataclass(frozen=True)
class Cell:
    """What a cell shows, what it sorts by, and how serious it is."""

    text: str
    sort: float | str | None = None
    level: Level | None = None
    note: str = ''
    link: str = ''
    below: str = ''  # a second line, small

    @property
    def key(self) -> str:
        """For sorting in the browser; what is unknown comes last."""
        value = self.text if self.sort is None else self.sort
        if isinstance(value, str):
            return value
        return f'{value:.9g}' if np.isfinite(value) else ''


@dataclass(frozen=True)
class Column:
    """Heading of a column; numbers stand right and sort by size."""

    title: str
    numeric: bool = False
    help: str = ''


@dataclass(frozen=True)
class Table:
    """A table that the reader can sort by its headings."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    caption: str = ''
    kind: str = 'table'


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    text: str
    kind: str = 'text'


@dataclass(frozen=True)
class Code:
    """A command or a listing, with a button to copy it."""

    text: str
    kind: str = 'code'


@dataclass(frozen=True)
class Figures:
    """Figures in two columns; wide ones take both."""

    figures: tuple[Figure, ...]
    caption: str = ''
    kind: str = 'figures'


@dataclass(frozen=True)
class Explorer:
    """Series over time that are drawn as they are asked for; `data` is JSON (see fleet.js)."""

    data: str
    kind: str = 'explorer'


@dataclass(frozen=True)
class Listing:
    """A long list that is shown page by page and can be searched; `data` is JSON of its rows."""

    columns: tuple[str, ...]
    data: str
    kind: str = 'listing'


Block = Table | Text | Code | Figures | Explorer | Listing


@dataclass(frozen=True)
class Section:
    """A part of the page with an entry in its contents; `folded` hides it behind its title."""

    anchor: str
    title: str
    blocks: tuple[Block, ...]
    folded: bool = False
    short: str = ''  # in the contents


@dataclass(frozen=True)
class Page:
    """Everything on the page."""

    title: str
    subtitle: str
    summary: FirstScreen
    sections: tuple[Section, ...]
    question: str = 'Can I trust this?'
    created: str = ''
    extra: dict[str, Any] = field(default_factory=dict)


@lru_cache(maxsize=1)
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader('veh_identification.reporting', 'templates'),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters['figure_json'] = lambda figure: inert(figure.json)
    made.filters['inert'] = inert
    made.filters['flags'] = flags
    return made


def flags(text: str) -> Markup:
    """A command whose flags are not broken at their hyphens where its lines are."""
    return Markup(
        re.sub(r'(?<![\w-])--?[a-z][\w-]*', r'<span class="flag">\g<0></span>', str(escape(text)))
    )


def inert(text: str) -> Markup:
    """JSON that cannot end the script element it stands in."""
    return Markup(text.replace('<', '\\u003c').replace('>', '\\u003e').replace('&', '\\u0026'))


@lru_cache(maxsize=1)
def plotly_source() -> Markup:
    """plotly.js from the installed package, packed: 2 MB instead of 5; the page unpacks it."""
    return Markup(base64.b64encode(zlib.compress(get_plotlyjs().encode(), 9)).decode('ascii'))


def _asset(name: str) -> Markup:
    source = _environment().loader
    assert source is not None
    return Markup(source.get_source(_environment(), name)[0])


def render(page: Page) -> str:
    """The text of the file."""
    number = iter(range(1_000_000))
    blocks = [block for section in page.sections for block in section.blocks]
    return (
        _environment()
        .get_template('page.html')
        .render(
            page=page,
            version=__version__,
            css=_asset('page.css'),
            script=_asset('page.js'),
            plotly=plotly_source(),
            themes=inert(json.dumps(THEMES)),
            identity=lambda: f'figure-{next(number)}',
            drawn=any(
                isinstance(block, Explorer) or (isinstance(block, Figures) and block.figures)
                for block in blocks
            ),
            further=_asset('fleet.js')
            if any(isinstance(block, (Explorer, Listing)) for block in blocks)
            else '',
        )
    )


def write_page(path: Path | str, page: Page) -> Path:
    """Write the file whole or not at all."""
    write_text(path, render(page))
    return Path(path)
