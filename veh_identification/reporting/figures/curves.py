"""Curves side by side with their bands, each beside a straight line."""

from __future__ import annotations

from plotly.subplots import make_subplots

from veh_identification.reporting.content import CurveFigure
from veh_identification.reporting.figures.style import Figure, axis, band, line, style
from veh_identification.reporting.palette import A_PRIORI, BAND, PREDICTED

COLUMNS = 2
ROW_HEIGHT = 260


def curves(content: CurveFigure) -> Figure:
    """Every panel with two deviations to both sides."""
    rows = -(-len(content.panels) // COLUMNS)
    figure = make_subplots(
        rows=rows, cols=COLUMNS, subplot_titles=[one.title for one in content.panels]
    )
    for k, one in enumerate(content.panels):
        place = {'row': k // COLUMNS + 1, 'col': k % COLUMNS + 1}
        low, high = one.value - 2.0 * one.std, one.value + 2.0 * one.std
        for trace in (
            band(one.along, low, high, '2 sigma', BAND, showlegend=k == 0),
            line(
                one.along, one.straight, 'straight line', A_PRIORI, dash='dot', showlegend=k == 0
            ),
            line(one.along, one.value, 'curve', PREDICTED, showlegend=k == 0),
        ):
            figure.add_trace(trace, **place)
        # Titles at the borders alone: between the panels there is no room for them on a phone.
        last, first = k + COLUMNS >= len(content.panels), k % COLUMNS == 0
        figure.update_xaxes(axis(content.along if last else ''), **place)
        figure.update_yaxes(axis(content.value if first else ''), **place)
    height = 60 + ROW_HEIGHT * rows
    style(figure, height)
    return Figure(content.title, figure, content.caption, True, height)
