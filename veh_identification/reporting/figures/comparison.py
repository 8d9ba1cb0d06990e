"""Figures of a comparison: differences in deviations, residuals on each other's data."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from veh_identification.findings.numbers import number, unit
from veh_identification.reporting.comparison import PairContent, WayContent
from veh_identification.reporting.figures.style import Figure, axis, style
from veh_identification.reporting.palette import ERROR, MUTED, PREDICTED


def differences(pair: PairContent) -> Figure:
    """Every parameter: its difference over the deviation of the difference."""
    rows = pair.differences
    figure = go.Figure()
    for chosen, colour, name in (
        ([one for one in rows if not one.significant], PREDICTED, 'within chance'),
        ([one for one in rows if one.significant], ERROR, 'changed'),
    ):
        if chosen:
            figure.add_scatter(
                x=[one.name for one in chosen],
                y=[round(one.sigmas, 3) for one in chosen],
                mode='markers',
                marker={'color': colour, 'size': 7},
                name=name,
                text=[
                    f'{number(one.before, 5)} → {number(one.after, 5)} {unit(one.unit)}'
                    for one in chosen
                ],
                hovertemplate='%{x}: %{y} sigma<br>%{text}<extra></extra>',
            )
    style(figure, 320, showlegend=True)
    for sign in (-1.0, 1.0):
        figure.add_hline(y=sign * pair.limit, line={'color': MUTED, 'width': 1, 'dash': 'dash'})
    figure.update_layout(
        hovermode='closest',
        xaxis=axis(
            '',
            type='category',
            tickangle=-60,
            tickfont={'size': 10},
            categoryorder='array',
            categoryarray=[one.name for one in rows],
        ),
        yaxis=axis('difference [sigma]'),
    )
    return Figure(
        pair.title,
        figure,
        f'Dashed: beyond {number(pair.limit, 3)} sigma one parameter of {len(rows)} counts as '
        'changed by itself.',
        wide=True,
        height=320,
    )


def residuals(way: WayContent) -> Figure:
    """By equation: what a model misses of the other's data, beside the data's own model."""
    names = [one.equation for one in way.rows]
    figure = go.Figure()
    for label, values, colour in (
        (f'model of {way.data} (own)', [one.own_relative for one in way.rows], PREDICTED),
        (f'model of {way.model}', [one.relative for one in way.rows], ERROR),
    ):
        figure.add_bar(
            x=names,
            y=[round(100.0 * one, 4) if np.isfinite(one) else None for one in values],
            name=label,
            marker={'color': colour},
        )
    style(figure, 280, showlegend=True)
    figure.update_layout(
        barmode='group',
        xaxis=axis('', type='category', tickfont={'size': 10}),
        yaxis=axis('residuals [% of measured]'),
    )
    return Figure(f'Data of {way.data}', figure, height=280)
