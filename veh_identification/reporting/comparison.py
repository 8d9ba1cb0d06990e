"""What the page of a comparison shows; whoever compared fills it in."""

from __future__ import annotations

from dataclasses import dataclass

from veh_identification.findings import Finding
from veh_identification.types import Array


@dataclass(frozen=True)
class ResultRow:
    """One result; texts are empty where something is not known."""

    label: str
    path: str
    verdict: str
    created: str
    recorded: str
    recordings: int
    report: str  # its own page


@dataclass(frozen=True)
class DifferenceRow:
    """One parameter of one pair."""

    name: str
    unit: str
    before: float
    before_std: float
    after: float
    after_std: float
    sigmas: float
    significant: bool


@dataclass(frozen=True)
class ResidualRow:
    """One equation: what a model misses of the other's data, beside the data's own model."""

    equation: str
    rms: float
    relative: float
    own_rms: float
    own_relative: float


@dataclass(frozen=True)
class WayContent:
    """The model of one result on the data of another."""

    model: str
    data: str
    text: str
    rows: tuple[ResidualRow, ...]


@dataclass(frozen=True)
class PairContent:
    """Two results."""

    before: str
    after: str
    headline: str
    different: bool
    chi_square: float
    freedom: int
    probability: float
    limit: float  # deviations beyond which one parameter alone counts as changed
    differences: tuple[DifferenceRow, ...]
    ways: tuple[WayContent, ...]
    findings: tuple[Finding, ...]

    @property
    def title(self) -> str:
        """Of figures and tables."""
        return f'{self.before} to {self.after}'


@dataclass(frozen=True, eq=False)
class TrendSeries:
    """One parameter over the results; nan where a result does not know it."""

    parameter: str
    unit: str
    value: Array
    std: Array


@dataclass(frozen=True)
class ComparisonContent:
    """Everything of the page."""

    title: str
    created: str
    level: float
    results: tuple[ResultRow, ...]
    pairs: tuple[PairContent, ...]
    trend: tuple[TrendSeries, ...]
    residuals_asked: bool
    command: str
