"""Figures of an observer run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots
from scipy.stats import chi2

from veh_identification.findings.numbers import unit
from veh_identification.reporting.content import (
    InnovationSeries,
    ObservationContent,
    Outage,
    StateSeries,
)
from veh_identification.reporting.figures.style import (
    Figure,
    axis,
    band,
    line,
    shade,
    small,
    style,
)
from veh_identification.reporting.palette import (
    A_PRIORI,
    BAND,
    ERROR,
    INK,
    MUTED,
    OUTAGE,
    PREDICTED,
    TRUTH,
    line_style,
)
from veh_identification.reporting.series import LIMIT, broken


def path(content: ObservationContent) -> Figure | None:
    """The path from above: observer, truth, model alone."""
    if content.path is None:
        return None
    by_name = {state.name: state for state in content.states}
    x, y = by_name[content.path[0]], by_name[content.path[1]]
    figure = go.Figure()
    step = max(1, len(x.time) // LIMIT)

    def add(a: np.ndarray | None, b: np.ndarray | None, name: str, **look: object) -> None:
        if a is not None and b is not None:
            figure.add_scatter(
                x=small(a[::step]), y=small(b[::step]), name=name, mode='lines', line=look
            )

    add(x.model, y.model, 'model alone', color=A_PRIORI, dash='dot', width=1.4)
    add(x.truth, y.truth, 'truth', color=TRUTH, width=4)
    add(x.value, y.value, 'observer', color=PREDICTED, width=1.6)
    style(figure, 420)
    figure.update_layout(
        hovermode='closest',
        xaxis=axis(f'{x.name} [{unit(x.unit)}]'),
        yaxis=axis(f'{y.name} [{unit(y.unit)}]', scaleanchor='x', scaleratio=1),
    )
    caption = f'One of {step} samples is drawn.' if step > 1 else ''
    return Figure('Path', figure, caption, height=420)


def states(content: ObservationContent, folded: bool) -> list[Figure]:
    """One figure a state, or a group of them; those that are folded or those that are not."""
    groups: dict[str, list[StateSeries]] = {}
    for one in content.states:
        if one.folded == folded:
            groups.setdefault(one.group or one.name, []).append(one)
    return [
        state(group[0], content.outages)
        if len(group) == 1 and not (group[0].std is None and group[0].truth is None)
        else together(title, group, content.outages)
        for title, group in groups.items()
    ]


def together(title: str, group: Sequence[StateSeries], outages: tuple[Outage, ...]) -> Figure:
    """States of one kind in one figure, the estimates only: nothing is known to compare with."""
    figure = go.Figure()
    for k, one in enumerate(group):
        figure.add_trace(line(one.time, one.value, one.name, str(line_style(k)['color'])))
    shade(figure, outages)
    style(figure, 300)
    figure.update_xaxes(axis('time [s]'))
    unit_of = unit(group[0].unit)
    figure.update_yaxes(axis(f'{_stem(group)} [{unit_of}]'))
    return Figure(title, figure, _sentence(group[0].meaning), height=300)


def _stem(group: Sequence[StateSeries]) -> str:
    """What the names of a group begin with: `stroke` of stroke_fl and stroke_rr."""
    if len(group) == 1:
        return group[0].name
    stems = {one.name.rpartition('_')[0] for one in group}
    return (stems.pop() if len(stems) == 1 else '') or 'value'


def _sentence(words: str) -> str:
    return f'{words[:1].upper()}{words[1:]}.' if words else ''


def state(one: StateSeries, outages: tuple[Outage, ...]) -> Figure:
    """A state above its error (or above its deviation where there is no truth)."""
    figure = make_subplots(
        rows=2, cols=1, shared_xaxes=True, row_heights=[0.55, 0.45], vertical_spacing=0.06
    )
    if one.model is not None:
        figure.add_trace(line(one.time, one.model, 'model alone', A_PRIORI, dash='dot'), 1, 1)
    if one.truth is not None:
        figure.add_trace(line(one.time, one.truth, 'truth', TRUTH, width=3.0), 1, 1)
    if one.std is not None:
        spread = 2.0 * one.std
        figure.add_trace(
            band(
                one.time,
                one.value - spread,
                one.value + spread,
                '2 sigma',
                BAND,
                legendgroup='band',
            ),
            1,
            1,
        )
        figure.add_trace(
            band(one.time, -spread, spread, '2 sigma', BAND, legendgroup='band', showlegend=False),
            2,
            1,
        )
    figure.add_trace(line(one.time, one.value, 'observer', PREDICTED), 1, 1)
    if one.truth is not None:
        figure.add_trace(line(one.time, one.value - one.truth, 'error', ERROR, width=1.0), 2, 1)
    shade(figure, outages, row=1, col=1)
    for outage in outages:
        figure.add_vrect(
            x0=outage.begin,
            x1=outage.end,
            fillcolor=OUTAGE,
            line_width=0,
            layer='below',
            row=2,
            col=1,
        )
    style(figure, 340)
    lower = 'error' if one.truth is not None else '± 2 sigma'
    figure.update_xaxes(axis(''), row=1, col=1)
    figure.update_xaxes(axis('time [s]'), row=2, col=1)
    figure.update_yaxes(axis(f'{one.name} [{unit(one.unit)}]'), row=1, col=1)
    figure.update_yaxes(axis(f'{lower}<br>[{unit(one.unit)}]'), row=2, col=1)
    return Figure(one.name, figure, _sentence(one.meaning), height=340)


def innovation(one: InnovationSeries, gate: float | None, outages: tuple[Outage, ...]) -> Figure:
    """Normalised innovations above their squares with the gate."""
    figure = make_subplots(
        rows=2, cols=1, shared_xaxes=True, row_heights=[0.55, 0.45], vertical_spacing=0.06
    )
    time, normalised = broken(one.time, one.normalised)
    for k in range(normalised.shape[1]):
        look = line_style(k)
        label = 'innovation' if normalised.shape[1] == 1 else f'component {k + 1}'
        figure.add_trace(line(time, normalised[:, k], label, str(look['color']), width=0.9), 1, 1)
    for level in (-2.0, 2.0):
        figure.add_hline(y=level, line={'color': INK, 'dash': 'dash', 'width': 1}, row=1, col=1)
    figure.add_trace(line(*broken(one.time, one.nis), 'NIS', MUTED, width=0.9), 2, 1)
    refused = ~one.accepted
    if refused.any():
        figure.add_trace(
            go.Scatter(
                x=small(one.time[refused][:LIMIT]),
                y=small(one.nis[refused][:LIMIT]),
                name='rejected',
                mode='markers',
                marker={'color': ERROR, 'symbol': 'x', 'size': 7},
            ),
            2,
            1,
        )
    if gate is not None and len(one.degrees):
        degrees = float(np.median(one.degrees))
        figure.add_hline(
            y=float(chi2.ppf(gate, degrees)) / degrees,
            row=2,
            col=1,
            line={'color': ERROR, 'dash': 'dash', 'width': 1.2},
        )
    own = tuple(outage for outage in outages if outage.sensor == one.sensor)
    shade(figure, own, row=1, col=1)
    style(figure, 320)
    figure.update_xaxes(axis(''), row=1, col=1)
    figure.update_xaxes(axis('time [s]'), row=2, col=1)
    figure.update_yaxes(axis('ν / σ [-]'), row=1, col=1)
    figure.update_yaxes(axis('NIS/dof [-]', rangemode='tozero'), row=2, col=1)
    return Figure(one.sensor, figure, height=320)
