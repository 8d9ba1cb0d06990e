"""Plotly figures of the reports."""

from __future__ import annotations

import plotly.graph_objects as go

from veh_identification.reporting.content import IdentificationContent, ObservationContent
from veh_identification.reporting.figures.identification import deviations
from veh_identification.reporting.figures.observation import path, state


def main_figure(content: IdentificationContent | ObservationContent) -> go.Figure:
    """The figure that says most of a result."""
    if isinstance(content, IdentificationContent):
        return deviations(content).figure
    made = path(content) or state(content.states[0], content.outages)
    return made.figure
