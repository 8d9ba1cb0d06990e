"""The reports as pages."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from veh_identification.findings import Verdict
from veh_identification.reporting.content import IdentificationContent, ObservationContent
from veh_identification.reporting.html import write_page
from veh_identification.reporting.pages.identification import identification_page
from veh_identification.reporting.pages.observation import observation_page
from veh_identification.reporting.pages.parts import files_section


def write_report(
    path: Path, content: IdentificationContent | ObservationContent, verdict: Verdict
) -> None:
    """One self-contained HTML file; what lies beside it already is linked."""
    if isinstance(content, IdentificationContent):
        page = identification_page(content, verdict)
    else:
        page = observation_page(content, verdict)
    beside = files_section(path.parent)
    write_page(path, replace(page, sections=(*page.sections, *beside)))
