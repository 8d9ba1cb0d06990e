"""What the page of a fleet shows; whoever has a fleet fills it in."""

from __future__ import annotations

from dataclasses import dataclass

from veh_identification.findings import Finding
from veh_identification.types import Array, IntArray


@dataclass(frozen=True, eq=False)
class TimeSeries:
    """Estimates of one parameter of one machine in the order of time."""

    machine: str
    parameter: str
    unit: str
    start_ns: IntArray
    value: Array
    std: Array


@dataclass(frozen=True)
class Step:
    """A change over time."""

    machine: str
    parameter: str
    unit: str
    before: float
    before_std: float
    after: float
    after_std: float
    share: float  # of the value before
    sigmas: float
    probability: float
    last_before: str  # dates
    first_after: str
    earliest: str
    latest: str
    lasting: bool
    sentence: str


@dataclass(frozen=True)
class MachineRow:
    """One machine."""

    name: str
    recordings: int  # that took part
    left_out: int
    verdict: str
    headline: str


@dataclass(frozen=True)
class OutlierRow:
    """A machine beyond the others."""

    machine: str
    parameter: str
    unit: str
    value: float
    others: float
    spread: float
    probability: float


@dataclass(frozen=True)
class RecordingRow:
    """One recording; `verdict` is yes, care, no or unusable."""

    recording: str
    machine: str
    date: str
    verdict: str
    text: str  # what is wrong with it
    report: str  # its own page, empty: there is none


@dataclass(frozen=True)
class PriorRow:
    """A value that the other machines make better known."""

    machine: str
    parameter: str
    unit: str
    own: float
    own_std: float
    value: float
    std: float
    weight: float  # of the others


@dataclass(frozen=True, eq=False)
class FleetContent:
    """Everything of the page; `value` and `std` are machines times parameters, nan: unknown."""

    title: str
    created: str
    level: float
    judged: int  # series that were looked at for changes
    machines: tuple[MachineRow, ...]
    parameters: tuple[tuple[str, str], ...]  # names and units
    value: Array
    std: Array
    steps: tuple[Step, ...]
    apart: tuple[str, ...]  # sentences of single recordings
    outliers: tuple[OutlierRow, ...]
    recordings: tuple[RecordingRow, ...]
    series: tuple[TimeSeries, ...]
    findings: tuple[Finding, ...]
    single_report: str  # command that makes the report of one recording
    prior: tuple[PriorRow, ...] | None = None  # None: nobody asked for it
