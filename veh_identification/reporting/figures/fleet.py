"""Figures of a fleet: machines times parameters, and changes over time."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from veh_identification.findings.numbers import number, unit
from veh_identification.reporting.figures.style import Figure, axis, style
from veh_identification.reporting.fleet import FleetContent, Step, TimeSeries
from veh_identification.reporting.palette import BLUE, ERROR, MIDDLE, PREDICTED, VERMILLION
from veh_identification.types import Array

#: Robust deviations at which the colours end.
_END = 6.0
#: Of a normal distribution, deviation over median absolute deviation.
_MAD = 1.4826


def from_the_others(value: Array) -> Array:
    """By machine and parameter: distance from the median over the machines, in their spread."""
    if not value.size:
        return np.zeros(value.shape)
    with np.errstate(all='ignore'):
        known = np.isfinite(value)
        middle = np.array(
            [np.median(c[k]) if k.any() else np.nan for c, k in zip(value.T, known.T, strict=True)]
        )
        away = value - middle
        spread = np.array(
            [
                np.median(np.abs(c[k])) if k.any() else np.nan
                for c, k in zip(away.T, known.T, strict=True)
            ]
        )
        found = away / (_MAD * spread)
    found[:, known.sum(axis=0) < 3] = np.nan  # two machines have no middle
    return np.asarray(np.where(np.isfinite(found), found, np.nan))


def machines_times_parameters(content: FleetContent) -> Figure:
    """A map: where a machine differs from the others."""
    away = from_the_others(content.value)
    names = [name for name, _ in content.parameters]
    machines = [one.name for one in content.machines]
    text = [
        [
            f'{number(v)} ± {number(s, 2)} {unit(u)}' if np.isfinite(v) else 'unknown'
            for v, s, (_, u) in zip(values, stds, content.parameters, strict=True)
        ]
        for values, stds in zip(content.value, content.std, strict=True)
    ]
    figure = go.Figure(
        go.Heatmap(
            x=names,
            y=machines,
            z=[[None if np.isnan(one) else round(float(one), 2) for one in row] for row in away],
            text=text,
            zmin=-_END,
            zmax=_END,
            colorscale=[[0.0, BLUE], [0.5, MIDDLE], [1.0, VERMILLION]],
            hovertemplate='%{y}, %{x}: %{text}<br>%{z} spreads from the median<extra></extra>',
            xgap=1,
            ygap=1,
            colorbar={'thickness': 10, 'title': {'text': 'spreads', 'side': 'right'}},
        )
    )
    height = int(np.clip(150 + 20 * len(machines), 240, 1400))
    style(figure, height)
    figure.update_layout(
        hovermode='closest',
        xaxis=axis('parameter', tickangle=-60, type='category', tickfont={'size': 10}),
        yaxis=axis('', type='category', autorange='reversed'),
    )
    return Figure(
        'Machines times parameters',
        figure,
        'Distance from the median over the machines in units of their spread (1.48 times the '
        'median absolute deviation). Point at a field for the value.',
        wide=True,
        height=height,
    )


def change(step: Step, series: TimeSeries) -> Figure:
    """One series with the means before and after a step."""
    dates = [iso(one) for one in series.start_ns.tolist()]
    figure = go.Figure()
    figure.add_scatter(
        x=dates,
        y=series.value.tolist(),
        error_y={'array': (2.0 * series.std).tolist(), 'thickness': 1, 'width': 0},
        mode='markers',
        marker={'color': PREDICTED, 'size': 6},
        name='recordings, 2 sigma',
    )
    first, last = dates[0], dates[-1]
    for x, y in (
        ([first, step.last_before], step.before),
        ([step.first_after, last], step.after),
    ):
        figure.add_scatter(
            x=x,
            y=[y, y],
            mode='lines+markers' if x[0] == x[1] else 'lines',
            line={'color': ERROR, 'width': 2},
            name='means',
            showlegend=x[0] == first,
        )
    style(figure, 280, showlegend=True)
    title = f'{step.parameter} [{unit(step.unit)}]' if step.unit else step.parameter
    figure.update_layout(hovermode='closest', xaxis=axis('date', nticks=5), yaxis=axis(title))
    return Figure(f'{step.machine}: {step.parameter}', figure, step.sentence, height=280)


def iso(start_ns: int) -> str:
    """A date as plotly takes it."""
    return str(np.datetime64(start_ns // 1_000_000, 'ms'))
