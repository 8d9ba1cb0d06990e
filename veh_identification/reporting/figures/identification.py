"""Figures of an identification."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from veh_identification.findings.numbers import unit
from veh_identification.reporting.content import Colour, IdentificationContent, Trace
from veh_identification.reporting.figures.style import Figure, axis, line, small, style
from veh_identification.reporting.palette import (
    A_PRIORI,
    BAND,
    BLUE,
    ERROR,
    GRID,
    INK,
    MEASURED,
    MIDDLE,
    MUTED,
    PREDICTED,
    TRUTH,
    VERMILLION,
    line_style,
)

FLAG_COLOURS = {'well': TRUTH, 'small': PREDICTED, 'weak': ERROR}


def deviations(content: IdentificationContent) -> Figure:
    """Standard deviations in percent, by parameter."""
    figure = go.Figure()
    titles = {'well': 'below 10 %', 'small': 'small value', 'weak': 'weak'}
    rows = [row for row in content.parameters if np.isfinite(row.percent) and row.percent > 0.0]
    for flag, colour in FLAG_COLOURS.items():
        chosen = [row for row in rows if row.flag == flag]
        if chosen:
            figure.add_bar(
                x=[row.name for row in chosen],
                y=[row.percent for row in chosen],
                name=titles[flag],
                marker={'color': colour},
            )
    figure.add_hline(y=10.0, line={'color': INK, 'dash': 'dash', 'width': 1})
    style(figure, 320, bargap=0.35, showlegend=True)
    figure.update_layout(
        hovermode='closest',
        xaxis=axis(
            'parameter',
            tickangle=-60,
            categoryorder='array',
            categoryarray=[row.name for row in rows],
            **_every_name(len(rows)),
        ),
        yaxis=axis('sigma [% of the value]', type='log', dtick=1, tickformat='~g'),
    )
    return Figure(
        'Standard deviation of every parameter',
        figure,
        'The dashed line marks 10 %, the usual bound for "well identified".',
        True,
        320,
    )


def _every_name(count: int) -> dict[str, object]:
    if count <= 60:
        return {'tickmode': 'linear', 'dtick': 1, 'tickfont': {'size': 11}}
    return {'tickfont': {'size': 9}}


def cross_validation(trace: Trace) -> Figure:
    """Measured and reconstructed side of one equation above their difference."""
    figure = make_subplots(
        rows=2, cols=1, shared_xaxes=True, row_heights=[0.66, 0.34], vertical_spacing=0.06
    )
    if trace.a_priori is not None:
        figure.add_trace(line(trace.time, trace.a_priori, 'a priori', A_PRIORI, dash='dot'), 1, 1)
    figure.add_trace(line(trace.time, trace.measured, 'measured', MEASURED), 1, 1)
    figure.add_trace(
        line(trace.time, trace.predicted, 'reconstructed', PREDICTED, dash='dash'), 1, 1
    )
    figure.add_trace(line(trace.time, trace.error, 'error', ERROR, width=1.0), 2, 1)
    style(figure, 330)
    figure.update_xaxes(axis(''), row=1, col=1)
    figure.update_xaxes(axis('time [s]'), row=2, col=1)
    figure.update_yaxes(axis(f'{trace.equation} [{unit(trace.unit)}]'), row=1, col=1)
    figure.update_yaxes(axis(f'error<br>[{unit(trace.unit)}]'), row=2, col=1)
    return Figure(trace.equation, figure, height=330)


def spectra(colours: Iterable[Colour]) -> list[Figure]:
    """Power density of the residuals, one figure per unit."""
    by_unit: dict[str, list[Colour]] = {}
    for one in colours:
        by_unit.setdefault(one.unit, []).append(one)
    result = []
    for measure, members in by_unit.items():
        figure = go.Figure()
        for k, one in enumerate(members):
            figure.add_scatter(
                x=small(one.frequency),
                y=small(one.density),
                name=one.equation,
                mode='lines',
                line=line_style(k),
            )
        style(figure, 330)
        figure.update_layout(
            xaxis=axis('frequency [Hz]', type='log'),
            yaxis=axis(
                f'power density [{squared(measure)}/Hz]',
                type='log',
                exponentformat='power',
                dtick=decades(members),
            ),
        )
        result.append(Figure(f'Spectrum of the residuals in {unit(measure)}', figure, height=330))
    return result


def decades(colours: Iterable[Colour]) -> int | str:
    """Distance of the ticks that leaves at least two and at most a few on the axis."""
    seen = np.concatenate([one.density[one.density > 0.0] for one in colours])
    span = float(np.log10(seen.max() / seen.min())) if len(seen) else 1.0
    return 'D1' if span < 2.0 else 1 if span < 6.0 else 2 if span < 14.0 else 5


def squared(measure: str) -> str:
    """The square of a unit."""
    return f'{measure}²' if measure.isalpha() else f'({unit(measure)})²'


def whiteness(colours: Iterable[Colour], what: str = 'residual') -> Figure:
    """Cumulative periodograms beside the straight line of white noise."""
    figure = go.Figure()
    members = list(colours)
    width = 100.0 * max((one.limit for one in members), default=0.0)
    figure.add_scatter(
        x=[0, 100, 100, 0],
        y=[-width, 100 - width, 100 + width, width],
        mode='lines',
        line={'width': 0},
        fill='toself',
        fillcolor=BAND,
        hoverinfo='skip',
        name='white (5 %)',
    )
    for k, one in enumerate(members):
        step = max(1, len(one.share) // 500)
        figure.add_scatter(
            x=small(100.0 * one.share[::step]),
            y=small(100.0 * one.cumulative[::step]),
            name=one.equation,
            mode='lines',
            line=line_style(k),
        )
    style(figure, 330)
    figure.update_layout(
        hovermode='closest',
        xaxis=axis('frequency [% of the tested band]', range=[0, 100]),
        yaxis=axis('cumulative power [%]', range=[0, 100]),
    )
    return Figure(
        f'Whiteness of the {what}s',
        figure,
        'A white series follows the diagonal and '
        'stays in the shaded band; a curve above it holds more power at low '
        'frequencies.',
        height=330,
    )


def inflation(content: IdentificationContent) -> Figure:
    """How much larger each deviation is because others are unknown too."""
    order = np.argsort(content.inflation)[::-1]
    names = [content.names[k] for k in order]
    figure = go.Figure(
        go.Bar(
            x=names,
            y=[float(content.inflation[k]) for k in order],
            marker={'color': PREDICTED},
            showlegend=False,
        )
    )
    figure.add_hline(y=1.0, line={'color': MUTED, 'dash': 'dash', 'width': 1})
    style(figure, 320, bargap=0.35)
    figure.update_layout(
        hovermode='closest',
        xaxis=axis('parameter', tickangle=-60, **_every_name(len(names))),
        yaxis=axis('sigma ratio [-]', type='log', dtick='D2', tickformat='~g'),
    )
    return Figure(
        'What the excitation leaves entangled',
        figure,
        'Ratio of the standard '
        'deviation to what it would be if all other parameters were known. 1: the '
        'motion separates the parameter perfectly; 10: only other manoeuvres, not more '
        'of the same, help efficiently.',
        True,
        320,
    )


def correlation(content: IdentificationContent) -> Figure:
    """Heat map of the correlation of the estimates."""
    names = list(content.names)
    side = int(np.clip(260 + 14 * len(names), 420, 900))
    figure = go.Figure(
        go.Heatmap(
            z=small(content.correlation),
            x=names,
            y=names,
            zmin=-1,
            zmax=1,
            xgap=0.5,
            ygap=0.5,
            colorscale=[[0.0, BLUE], [0.5, MIDDLE], [1.0, VERMILLION]],
            colorbar={
                'title': {'text': 'correlation [-]', 'side': 'right'},
                'thickness': 12,
                'outlinewidth': 0,
            },
            hovertemplate='%{y} and %{x}: %{z:.3f}<extra></extra>',
        )
    )
    style(figure, side)
    font = {'tickfont': {'size': 10 if len(names) <= 45 else 7}, 'tickmode': 'linear', 'dtick': 1}
    figure.update_layout(
        hovermode='closest',
        plot_bgcolor=GRID,
        xaxis=axis('parameter', tickangle=-90, **font),
        yaxis=axis('parameter', autorange='reversed', **font),
    )
    caption = (
        'Vermillion: two estimates err in the same direction; blue: in opposite '
        'directions; neutral: independently.'
    )
    return Figure('Correlation of the estimates', figure, caption, True, side)
