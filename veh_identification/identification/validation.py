"""Direct and cross validation: how well parameters reconstruct a recording, per equation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from veh_identification.errors import EstimationError
from veh_identification.identification.blocks import BlockSource, clean_blocks
from veh_identification.identification.residuals import predicted
from veh_identification.types import Array


@dataclass(frozen=True)
class Validation:
    """Residuals of one recording; relative means over rms(measured)."""

    equations: list[str]
    rms: Array
    rms_relative: Array
    a_priori_rms: Array | None  # nan for an equation with an a-priori value that is unknown
    samples: int
    excluded: int

    def as_dict(self) -> dict[str, dict[str, float | None]]:
        """Return the `validation` entry of parameters.json."""
        return {
            name: {
                'rms': finite(self.rms[j]),
                'rms_relative': finite(self.rms_relative[j]),
                'a_priori_rms': (
                    None if self.a_priori_rms is None else finite(self.a_priori_rms[j])
                ),
            }
            for j, name in enumerate(self.equations)
        }


def finite(value: float) -> float | None:
    """Return the number, or None (null in JSON) where it is not finite."""
    return float(value) if np.isfinite(value) else None


def validate(
    source: BlockSource,
    X: Array,
    equation_names: Sequence[str],
    a_priori: Array | None = None,
) -> Validation:
    """Compare measured and predicted over a recording with `X` and, beside it, `a_priori`.

    Unknown a-priori values (nan) predict nothing: equations in which they appear have none.
    """
    candidates = [np.asarray(X, float)]
    unknown = np.zeros(len(candidates[0]), bool)
    if a_priori is not None:
        given = np.asarray(a_priori, float)
        unknown = ~np.isfinite(given)
        candidates.append(np.where(unknown, 0.0, given))
    parameters = np.stack(candidates, axis=1)
    incomplete = np.zeros(len(equation_names), bool)
    counts = np.zeros(len(equation_names), np.int64)
    squares = np.zeros((len(equation_names), parameters.shape[1]))
    measured = np.zeros(len(equation_names))
    samples = excluded = 0
    for block in clean_blocks(source, (len(equation_names), len(parameters))):
        residuals = block.Y[:, :, None] - predicted(block.W, parameters)
        squares += np.square(residuals).sum(axis=0)
        measured += np.square(block.Y).sum(axis=0)
        samples += len(block.Y) - block.excluded
        excluded += block.excluded
        counts += block.counts
        if unknown.any():
            incomplete |= block.used[:, unknown].any(axis=1)
    if samples == 0:
        raise EstimationError('the validation recording holds no sample whose values are finite')
    with np.errstate(divide='ignore', invalid='ignore'):  # nan for an equation without rows
        rms = np.sqrt(squares / counts[:, None])
        scale = np.sqrt(measured / counts)
        relative = np.where(scale > 0.0, rms[:, 0] / scale, np.nan)
    prior_rms = np.where(incomplete, np.nan, rms[:, 1]) if a_priori is not None else None
    return Validation(list(equation_names), rms[:, 0], relative, prior_rms, samples, excluded)
