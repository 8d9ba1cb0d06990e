"""Curves with bands in a report."""

from __future__ import annotations

import numpy as np
import pytest

from veh_identification.reporting.content import CurveFigure, CurvePanel
from veh_identification.reporting.figures.curves import curves
from veh_identification.reporting.pages.parts import extra_section


def _figure(count: int) -> CurveFigure:
    along = np.linspace(-0.2, 0.2, 5)
    panels = tuple(
        CurvePanel(name, along, 1000.0 * along**3, np.full(5, 7.0), 30.0 * along)
        for name in ('fl', 'fr', 'rl')[:count]
    )
    return CurveFigure('Dampers', 'Positive in compression.', 'speed [m/s]', 'force [N]', panels)


def test_every_panel_has_curve_line_and_band_of_two_deviations() -> None:
    drawn = curves(_figure(3))
    assert len(drawn.figure.data) == 9
    second = drawn.figure.data[3:6]
    assert [one.name for one in second] == ['2 sigma', 'straight line', 'curve']
    assert {one.xaxis for one in second} == {'x2'}
    value = 1000.0 * np.linspace(-0.2, 0.2, 5) ** 3
    assert second[2].y == pytest.approx(value, abs=1e-3)
    assert second[0].y == pytest.approx([*(value - 14.0), *(value + 14.0)[::-1]], rel=1e-3)
    layout = drawn.figure.layout
    assert layout.xaxis2.title.text == 'speed [m/s]' and layout.yaxis3.title.text == 'force [N]'


def test_curves_stand_before_the_tables() -> None:
    assert extra_section(()) == []
    (section,) = extra_section((), (_figure(1),))
    assert section.title == 'Further results' and len(section.blocks) == 1
