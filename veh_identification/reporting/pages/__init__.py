"""The reports as pages."""

from __future__ import annotations

from pathlib import Path

from veh_identification.findings import Verdict
from veh_identification.reporting.content import IdentificationContent, ObservationContent
from veh_identification.reporting.html import write_page
from veh_identification.reporting.pages.identification import identification_page
from veh_identification.reporting.pages.observation import observation_page


def write_report(
    path: Path, content: IdentificationContent | ObservationContent, verdict: Verdict
) -> None:
    """One self-contained HTML file."""
    if isinstance(content, IdentificationContent):
        write_page(path, identification_page(content, verdict))
    else:
        write_page(path, observation_page(content, verdict))
