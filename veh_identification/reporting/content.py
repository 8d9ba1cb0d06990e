"""What a report shows, as plain data: no plotting library, no HTML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from veh_identification.findings import Finding, Level
from veh_identification.types import Array


@dataclass(frozen=True)
class Card:
    """One figure of the first screen."""

    label: str
    value: str
    note: str
    level: Level = 'note'


@dataclass(frozen=True)
class ParameterRow:
    """One line of the parameter table; nan where something is unknown."""

    name: str
    unit: str
    a_priori: float
    value: float
    std: float
    flag: Literal['well', 'small', 'weak', 'none', 'impossible', 'given']
    remark: str = ''
    truth: float = float('nan')
    meaning: str = ''

    @property
    def percent(self) -> float:
        """Standard deviation in percent of the value."""
        return 100.0 * self.std / abs(self.value) if self.value else float('inf')


@dataclass(frozen=True)
class Trace:
    """Both sides of one equation over time; nan breaks the line."""

    equation: str
    unit: str
    time: Array
    measured: Array
    predicted: Array
    a_priori: Array | None = None

    @property
    def error(self) -> Array:
        """Measured minus reconstructed."""
        return np.asarray(self.measured - self.predicted)


@dataclass(frozen=True)
class TraceSet:
    """All equations of one recording."""

    title: str
    held_out: bool  # not used for the identification
    traces: tuple[Trace, ...]


@dataclass(frozen=True)
class FitRow:
    """Residuals of one equation; nan where unknown."""

    equation: str
    unit: str
    rms: float
    relative: float
    validation_rms: float = float('nan')
    validation_relative: float = float('nan')
    a_priori_rms: float = float('nan')
    noise: float = float('nan')  # what the sensors' noise alone leaves of the residuals
    validation_noise: float = float('nan')
    negligible: float = 0.0  # what may be left whatever its share

    @property
    def growth(self) -> float:
        """How many times larger the residual is on the recording that judges.

        Where the noise of both is known, residuals are counted in it: means over many periods and
        single samples cannot be compared otherwise.
        """
        if not self.rms > 0.0:
            return float('nan')
        ratio = self.validation_rms / self.rms
        known = self.noise > 0.0 and self.validation_noise > 0.0
        return ratio * self.noise / self.validation_noise if known else ratio

    @property
    def measured_rms(self) -> float:
        """rms of the measured side of the identification data."""
        return self.rms / self.relative if self.relative else float('nan')

    @property
    def validation_measured_rms(self) -> float:
        """The same of the recording that judges."""
        return (
            self.validation_rms / self.validation_relative
            if self.validation_relative
            else float('nan')
        )


@dataclass(frozen=True)
class Colour:
    """Spectrum of one residual, and its cumulative periodogram within the pass band."""

    equation: str
    unit: str
    frequency: Array
    density: Array  # unit^2 / Hz
    share: Array  # of the band: 0 to 1
    cumulative: Array
    limit: float  # 5 % band around the straight line of white noise (see series.jointly_limited)
    statistic: float
    band_hz: float

    @property
    def white(self) -> bool:
        """Whether the curve stays within the band."""
        return self.statistic <= self.limit


@dataclass(frozen=True)
class HealthRow:
    """One topic of one recording."""

    recording: str
    topic: str
    typename: str
    count: int
    rate: float  # Hz, mean outside gaps
    longest_gap: float  # s
    gaps: int  # distances above five times the usual one
    missing: float  # s in those gaps
    disorder: int  # stamps earlier than or equal to the one before
    undecodable: int
    note: str = ''
    starts_late: float = 0.0  # s after the other topics of the recording
    ends_early: float = 0.0  # s before them


@dataclass(frozen=True)
class Provenance:
    """Where a result comes from."""

    command: str
    files: tuple[tuple[str, str], ...]  # (role, path)
    versions: tuple[tuple[str, str], ...]
    settings: Mapping[str, Any] = field(default_factory=dict)
    created: str = ''
    #: Poses, geometry and calibration: (what, value, where it came from).
    inputs: tuple[tuple[str, str, str], ...] = ()
    #: What was asked for, by name, so that a program can make the result again.
    arguments: Mapping[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """For parameters.json and metrics.json."""
        return {
            'command': self.command,
            'created': self.created,
            'versions': dict(self.versions),
            'inputs': [
                {'what': what, 'value': value, 'from': source}
                for what, value, source in self.inputs
            ],
            'arguments': dict(self.arguments),
        }


@dataclass(frozen=True)
class ExtraTable:
    """A table that only some systems have."""

    title: str
    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str | float, ...], ...]


@dataclass(frozen=True, eq=False)
class CurvePanel:
    """One curve with its deviation, and the straight line in its place."""

    title: str
    along: Array
    value: Array
    std: Array
    straight: Array


@dataclass(frozen=True, eq=False)
class CurveFigure:
    """Curves side by side that only some systems have; the axes' titles hold the units."""

    title: str
    caption: str
    along: str
    value: str
    panels: tuple[CurvePanel, ...]


def table(
    title: str, caption: str, rows: Sequence[Mapping[str, Any]] | None, columns: Mapping[str, str]
) -> ExtraTable | None:
    """A table of those columns that the rows have; None for no rows."""
    if not rows:
        return None
    used = [key for key in columns if any(key in row for row in rows)]
    return ExtraTable(
        title,
        caption,
        tuple(columns[key] for key in used),
        tuple(tuple(_plain(row.get(key)) for key in used) for row in rows),
    )


def _plain(value: Any) -> str | float:
    if isinstance(value, (bool, np.bool_)):
        return 'yes' if value else ''
    if isinstance(value, (int, float, np.number)):
        return float(value)
    return '' if value is None else str(value)


@dataclass(frozen=True)
class IdentificationContent:
    """Everything that the report of an identification shows."""

    title: str
    system: str
    estimator: str
    samples: int
    excluded: int
    seconds: float
    condition_number: float
    correlation_condition: float
    noise_model: str
    parameters: tuple[ParameterRow, ...]
    fit: tuple[FitRow, ...]
    trace_sets: tuple[TraceSet, ...]
    colours: tuple[Colour, ...]
    names: tuple[str, ...]  # of the correlation matrix: identified parameters only
    correlation: Array
    inflation: Array  # how many times larger correlation makes each deviation
    removed: tuple[tuple[str, str], ...]
    unexcited: tuple[str, ...]
    findings: tuple[Finding, ...]  # of the system itself
    health: tuple[HealthRow, ...]
    provenance: Provenance
    extras: tuple[ExtraTable, ...] = ()
    curves: tuple[CurveFigure, ...] = ()  # drawn beside the extras
    cards: tuple[Card, ...] = ()  # figures that only some systems have, for the first screen
    model: str = ''  # which of a system's models
    recorded: float = float('nan')  # s of the recordings that were identified from

    @property
    def validated(self) -> bool:
        """Whether another recording was used to judge the values."""
        return any(np.isfinite(row.validation_rms) for row in self.fit)


@dataclass(frozen=True)
class StateSeries:
    """One observed quantity over time, with what is known to compare it with."""

    name: str
    unit: str
    time: Array
    value: Array
    std: Array | None = None
    truth: Array | None = None
    model: Array | None = None  # the model without corrections
    group: str = ''  # states of one group share a figure, which has this title
    folded: bool = False  # of less interest: below, closed at first
    meaning: str = ''  # with the frame it is in


@dataclass(frozen=True)
class InnovationSeries:
    """All innovations of one sensor; the sample axis is first."""

    sensor: str
    time: Array
    normalised: Array  # (N, components): innovation over its expected deviation
    nis: Array  # per degree of freedom
    degrees: Array
    accepted: NDArray[np.bool_]


@dataclass(frozen=True)
class SensorRow:
    """How one sensor fared in the observer."""

    sensor: str
    rate: float
    used: int
    rejected: int
    other: int  # unavailable, invalid, late
    nis: float
    nis_lower: float
    nis_upper: float
    white: tuple[bool, ...]
    longest_gap: float
    pseudo: bool = False  # a constraint of the model that enters like a measurement


@dataclass(frozen=True)
class Outage:
    """A time without an accepted measurement of a sensor."""

    sensor: str
    begin: float
    end: float


@dataclass(frozen=True)
class ErrorRow:
    """Errors of one quantity against the truth."""

    name: str
    unit: str
    max_observer: float
    max_model: float
    rms_observer: float
    rms_model: float
    inside: float = float('nan')  # share of samples within 2 sigma
    in_sigma: float = float('nan')  # rms of the error in its stated deviations
    independent: int = 1  # runs of one sign: errors that are independent of each other


@dataclass(frozen=True)
class ObservationContent:
    """Everything that the report of an observer run shows."""

    title: str
    system: str
    duration: float
    real_time_factor: float
    states: tuple[StateSeries, ...]
    innovations: tuple[InnovationSeries, ...]
    errors: tuple[ErrorRow, ...]
    sensors: tuple[SensorRow, ...]
    outages: tuple[Outage, ...]
    whiteness: tuple[Colour, ...]
    gate_probability: float | None
    findings: tuple[Finding, ...]  # of the system itself
    health: tuple[HealthRow, ...]
    provenance: Provenance
    path: tuple[str, str] | None = None  # the two states that make a map
    extras: tuple[ExtraTable, ...] = ()
    gates: str = ''  # a sentence where sensors have gates of their own
    nees: float = float('nan')
    nees_expected: float = float('nan')
    settling: float = 0.0  # s at the beginning that the errors leave out
