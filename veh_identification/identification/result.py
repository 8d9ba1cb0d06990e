"""The outcome of an identification: everything that parameters.json, tables and nodes show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veh_identification._version import __version__
from veh_identification.identification.essential import Removal
from veh_identification.identification.statistics import (
    Deviations,
    correlation,
    correlation_condition,
    deviations,
)
from veh_identification.identification.validation import Validation, finite
from veh_identification.types import Array


@dataclass
class IdentificationResult:
    """Parameters with their deviations and how they were found; see contract.md, Output."""

    names: list[str]
    units: list[str]
    value: Array
    covariance: Array
    equations: list[str]
    estimator: str
    samples: int
    excluded_samples: int
    condition_number: float  # of the observation matrix with unit columns
    correlation_condition: float
    sigma: Array  # noise deviation per equation
    residual_rms: Array
    residual_rms_relative: Array
    a_priori: Array | None = None  # nan where unknown
    noise: dict[str, Any] = field(default_factory=dict)  # model, effective samples
    removed: list[Removal] = field(default_factory=list)
    unexcited: list[str] = field(default_factory=list)
    impossible: list[str] = field(default_factory=list)  # values that cannot exist
    validation: Validation | None = None
    system: str = ''
    input: dict[str, Any] = field(default_factory=dict)
    extra: dict[str, Any] = field(default_factory=dict)  # further entries (total_mass ...)
    rows: NDArray[np.int64] | None = None  # per equation: rows that took part, if known

    @property
    def deviations(self) -> Deviations:
        """Standard and relative deviations, intervals and flags."""
        return deviations(self.value, self.covariance)

    @property
    def std(self) -> Array:
        """Standard deviations."""
        return self.deviations.std

    @property
    def correlation(self) -> Array:
        """Correlation matrix of the estimates."""
        return correlation(self.covariance)

    @property
    def freedom(self) -> float:
        """Independent residuals behind the covariance: effective samples less the unknowns."""
        independent = self.noise.get('effective_samples')
        if independent is None:  # taken as white
            everything = [self.samples] * len(self.equations)
            independent = everything if self.rows is None else self.rows
        return float(np.sum(independent)) - len(self.names)

    def index(self, name: str) -> int:
        """Position of a parameter."""
        return self.names.index(name)

    def as_dict(self) -> dict[str, Any]:
        """Return the content of parameters.json as plain Python values (null for unknown)."""
        content: dict[str, Any] = {
            'system': self.system,
            'samples': self.samples,
            'excluded_samples': self.excluded_samples,
            'equations': len(self.equations),
            'condition_number': finite(self.condition_number),
            'correlation_condition_number': finite(self.correlation_condition),
            'estimator': self.estimator,
            'noise': self.noise,
            'parameters': [self._parameter(i) for i in range(len(self.names))],
            'residuals': {
                name: {
                    'rms': finite(self.residual_rms[j]),
                    'rms_relative': finite(self.residual_rms_relative[j]),
                    'sigma': finite(self.sigma[j]),
                    **({} if self.rows is None else {'samples': int(self.rows[j])}),
                }
                for j, name in enumerate(self.equations)
            },
            'validation': {} if self.validation is None else self.validation.as_dict(),
            'removed': [{'name': r.name, 'reason': r.reason} for r in self.removed],
            'unexcited': list(self.unexcited),
            'input': self.input,
            'version': __version__,
        }
        return {**content, **self.extra}

    def _parameter(self, i: int) -> dict[str, Any]:
        spread, possible = self.deviations, self.names[i] not in self.impossible
        return {
            'name': self.names[i],
            'unit': self.units[i],
            'value': finite(self.value[i]),
            'std': finite(spread.std[i]),
            'rel_std_percent': finite(spread.rel_std_percent[i]),
            'rel_two_sigma_percent': finite(spread.rel_two_sigma_percent[i]),
            'interval_two_sigma': [finite(v) for v in spread.interval[i]],
            'well_identified': bool(spread.well_identified[i]) and possible,
            'possible': possible,
            'a_priori': None if self.a_priori is None else finite(self.a_priori[i]),
        }


@dataclass(frozen=True, eq=False)
class Solved:
    """What an estimator found for all unknowns; it becomes an `IdentificationResult` once."""

    value: Array
    covariance: Array
    sigma: Array  # noise deviation per equation
    residual_rms: Array
    residual_rms_relative: Array
    estimator: str
    samples: int
    excluded: int
    condition_number: float
    noise: dict[str, Any] = field(default_factory=dict)
    removed: list[Removal] = field(default_factory=list)
    unexcited: list[str] = field(default_factory=list)
    rows: NDArray[np.int64] | None = None  # per equation: rows that took part

    @property
    def std(self) -> Array:
        """Standard deviations."""
        return np.sqrt(np.diag(self.covariance))

    def result(
        self,
        names: Sequence[str],
        units: Sequence[str],
        equations: Sequence[str],
        a_priori: Array | None = None,
        **entries: Any,
    ) -> IdentificationResult:
        """The result for the first unknowns, those that are named; `entries` are its further ones.

        What stands behind them (offsets of sensors) took part and is left out here.
        """
        count = len(names)
        covariance = self.covariance[:count, :count]
        kept = np.flatnonzero(np.diag(covariance) > 0.0)
        given = {'unexcited': [name for name in self.unexcited if name in names], **entries}
        return IdentificationResult(
            names=list(names),
            units=list(units),
            value=self.value[:count],
            covariance=covariance,
            equations=list(equations),
            estimator=self.estimator,
            samples=self.samples,
            excluded_samples=self.excluded,
            condition_number=self.condition_number,
            correlation_condition=correlation_condition(covariance[np.ix_(kept, kept)]),
            sigma=self.sigma,
            residual_rms=self.residual_rms,
            residual_rms_relative=self.residual_rms_relative,
            rows=self.rows,
            a_priori=None if a_priori is None else np.asarray(a_priori, float)[:count],
            noise=self.noise,
            removed=self.removed,
            **given,
        )


def json_safe(value: Any) -> Any:
    """Turn numpy values into plain ones and what is not finite into None, at any depth."""
    if isinstance(value, dict):
        return {str(key): json_safe(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [json_safe(item) for item in value]
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        return finite(float(value))
    return value if value is None else str(value)
