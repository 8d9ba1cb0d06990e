"""What all figures share: paper, grid, axes with units, and their way into the page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from veh_identification.reporting.content import Outage
from veh_identification.reporting.palette import GRID, INK, OUTAGE, PAPER
from veh_identification.reporting.series import LIMIT, extremes
from veh_identification.types import Array

ZOOM = (
    'Drag to zoom, double click to see all; the keys + - and arrows do the same '
    'with the figure that has the focus, 0 shows all.'
)
DECIMATED = (
    f'Lines of more than {LIMIT} points are drawn by the smallest and the largest value '
    f'of each of {LIMIT // 3} intervals, so that peaks stay; numbers in tables and '
    'sentences come from all samples.'
)


@dataclass(frozen=True)
class Figure:
    """A plotly figure with its caption; `wide` takes the whole width of the page."""

    title: str
    figure: Any
    caption: str = ''
    wide: bool = False
    height: int = 300

    @property
    def json(self) -> str:
        """The figure for plotly.js."""
        return str(self.figure.to_json(validate=False))


def axis(title: str, **more: Any) -> dict[str, Any]:
    """An axis with its title, which must hold the unit."""
    return {
        'title': {'text': title, 'standoff': 6},
        'gridcolor': GRID,
        'zerolinecolor': GRID,
        'linecolor': GRID,
        'tickfont': {'size': 11},
        'automargin': True,
        # 0.0005 and 17000 rather than 500 micro and 17 k beside a unit
        'minexponent': 5,
        **more,
    }


def style(figure: Any, height: int, **layout: Any) -> Any:
    """Paper and fonts by their roles, a legend above the plot."""
    figure.update_layout(
        template='none',
        height=height,
        autosize=True,
        paper_bgcolor=PAPER,
        plot_bgcolor=PAPER,
        font={'color': INK, 'size': 12, 'family': 'system-ui, sans-serif'},
        margin={'l': 60, 'r': 14, 't': 28, 'b': 44},
        hovermode='x unified',
        hoverlabel={'bgcolor': PAPER, 'font': {'color': INK}},
        legend={
            'orientation': 'h',
            'x': 0,
            'y': 0,
            'yanchor': 'bottom',
            'yref': 'container',
            'font': {'size': 11},
        },
        uirevision='keep',
        **layout,
    )
    return figure


def line(
    time: Array,
    value: Array,
    name: str,
    color: str,
    *,
    width: float = 1.3,
    dash: str = 'solid',
    **more: Any,
) -> Any:
    """A line of at most LIMIT points."""
    x, y = extremes(np.asarray(time, float), np.asarray(value, float))
    return go.Scatter(
        x=small(x),
        y=small(y),
        name=name,
        mode='lines',
        line={'color': color, 'width': width, 'dash': dash},
        **more,
    )


def band(time: Array, low: Array, high: Array, name: str, color: str, **more: Any) -> Any:
    """A filled band between two lines."""
    step = max(1, len(time) // (LIMIT // 4))
    t, a, b = time[::step], low[::step], high[::step]
    return go.Scatter(
        x=small(np.concatenate([t, t[::-1]])),
        y=small(np.concatenate([a, b[::-1]])),
        name=name,
        mode='lines',
        line={'width': 0},
        fill='toself',
        fillcolor=color,
        hoverinfo='skip',
        **more,
    )


def small(values: Array) -> Any:
    """Single precision: enough for a screen and half the size of the file."""
    return np.asarray(values, dtype=np.float32)


def shade(figure: Any, outages: tuple[Outage, ...], **where: Any) -> None:
    """Shade times without a sensor; the label stands once per outage."""
    for one in outages:
        figure.add_vrect(
            x0=one.begin,
            x1=one.end,
            fillcolor=OUTAGE,
            line_width=0,
            layer='below',
            annotation_text=f'no {one.sensor}',
            annotation_position='top left',
            annotation_font_size=10,
            **where,
        )
