"""Maximum likelihood of innovations by Fisher scoring, with deviations that see their colour.

With scalar innovations e of variance S the likelihood is -1/2 sum(log S + e^2 / S). Its expected
information is sum(de de' / S + dS dS' / (2 S^2)), which needs first derivatives only. Where the
model is not quite the truth innovations are coloured, and the information alone promises too much:
the sums of the score over blocks of some seconds tell how much it really varies (sandwich).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from veh_identification.errors import EstimationError
from veh_identification.types import Array, BoolArray, IntArray

MOST = 40  # scoring steps
STEP = 1e-4  # of differences, in deviations of the prior
SMALL_GAIN = 0.1  # of the likelihood, that ends the search
SHARES = (1.0, 0.5, 0.2)  # of a step to a further unknown, which may be too long
LARGEST = 5.0  # an innovation counts up to so many deviations


@dataclass(frozen=True)
class Prior:
    """Where the unknowns may be: normal, in the coordinates of the search."""

    mean: Array
    deviation: Array


@dataclass(frozen=True, eq=False)
class Innovations:
    """All scalar innovations of all recordings, their variances, and the block of each."""

    error: Array
    variance: Array
    block: IntArray


#: Where a prediction leaves all bounds, innovations are missing, and fewer of them look better.
LOST = (
    'the prediction of the car cannot follow this recording: look at units of speed and steering, '
    'at the steering ratio, and at the lengths of the description'
)


@dataclass(frozen=True, eq=False)
class Fitted:
    """The most likely unknowns."""

    value: Array
    covariance: Array  # see `_covariance`
    innovations: Innovations
    steps: int
    condition_number: float


def maximise(
    predict: Callable[[Array], Innovations], prior: Prior, considered: BoolArray | None = None
) -> Fitted:
    """Scoring steps with damping from the prior's mean.

    Unknowns that are `considered` stay at their mean, and how uncertain they are enters the
    deviations of the others: a model that is not quite the truth would use them to mend itself.
    """
    value = np.array(prior.mean, dtype=float)
    fixed = np.zeros(len(value), dtype=bool) if considered is None else considered
    free = np.flatnonzero(~fixed)
    now = predict(value)
    best, damping, steps = _loss(now, value, prior), 1e-3, 0
    while True:
        slopes = _slopes(predict, value, prior, now, free)
        information, score, _ = _normal(now, slopes, value, prior, free)
        gain = 0.0
        for _ in range(8):
            matrix = information + damping * np.diag(np.diag(information))
            limit = 2.0 * prior.deviation[free]
            moved = value.copy()
            moved[free] += np.clip(np.linalg.solve(matrix, score), -limit, limit)
            tried = predict(moved)
            loss = _loss(tried, moved, prior) if len(tried.error) == len(now.error) else np.inf
            if np.isfinite(loss) and loss < best:
                gain, best, value, now = best - loss, loss, moved, tried
                damping = max(damping / 5.0, 1e-9)
                break
            damping *= 8.0
        steps += 1
        if gain < SMALL_GAIN or steps >= MOST:
            break
    if not np.isfinite(best):
        raise EstimationError(LOST)
    everything = np.arange(len(value))
    slopes = _slopes(predict, value, prior, now, everything)
    information, _, blocks = _normal(now, slopes, value, prior, everything)
    if not np.isfinite(information).all():  # beside this value it leaves all bounds
        raise EstimationError(LOST)
    own = information[np.ix_(free, free)]
    scale = np.sqrt(np.diag(own))
    return Fitted(
        value,
        _covariance(information, blocks, prior, free),
        now,
        steps,
        float(np.linalg.cond(own / np.outer(scale, scale))),
    )


@dataclass(frozen=True)
class Further:
    """A further unknown: its size, its deviation, and what is gained of the likelihood by it."""

    size: float
    deviation: float
    gain: float


def one_more(
    predict: Callable[[Array], Innovations],
    fitted: Fitted,
    prior: Prior,
    others: Sequence[Callable[[float, Array], Innovations]],
    step: float,
) -> list[Further]:
    """What each of some further unknowns would be, by one scoring step with all others.

    `others` predict for a size of the further unknown, which was zero in the fit, and a value of
    the fit's unknowns; those that were held may move as their prior allows.
    """
    now, everything = fitted.innovations, np.arange(len(fitted.value))
    slopes = _slopes(predict, fitted.value, prior, now, everything)
    information, score, blocks = _normal(now, slopes, fitted.value, prior, everything)
    root, before = np.sqrt(now.variance), _loss(now, fitted.value, prior)
    scaled, whitened = slopes[0] / root, _clipped(now) / root
    limit = 2.0 * prior.deviation
    found = []
    for other in others:
        column = (other(step, fitted.value).error - now.error) / step / root
        away = np.linalg.solve(information, scaled @ column)
        left = column - away @ scaled
        size = float(column @ left)
        estimate = (float(-column @ whitened) - float(away @ score)) / size
        # Blocks of the score where it is found, not at zero: there it holds the error itself.
        after = whitened + left * estimate
        own = np.bincount(now.block, -left * after, len(blocks))
        seen = float(np.sum(np.square(own - own.mean()))) * len(own) / max(len(own) - 1.0, 1.0)
        moved = np.linalg.solve(information, score) - away * estimate
        moved = np.clip(moved, -limit, limit)
        gain = max(
            _gain(before, tried, there, prior) if len(tried.error) == len(now.error) else -np.inf
            for share in SHARES
            for there in [fitted.value + share * moved]
            for tried in [other(share * estimate, there)]
        )
        found.append(Further(estimate, float(np.sqrt(max(seen, size)) / size), gain))
    return found


def gained(before: Fitted, after: Fitted, prior: Prior) -> float:
    """What a fit of changed samples gains of the likelihood; nothing where it loses some."""
    if len(before.innovations.error) != len(after.innovations.error):
        return 0.0
    loss = _loss(before.innovations, before.value, prior)
    return _gain(loss, after.innovations, after.value, prior)


def _gain(before: float, now: Innovations, value: Array, prior: Prior) -> float:
    with np.errstate(over='ignore', invalid='ignore'):
        loss = _loss(now, value, prior)
    return before - loss if np.isfinite(loss) else -np.inf


def _clipped(now: Innovations) -> Array:
    """Innovations, outliers drawn in."""
    limit = LARGEST * np.sqrt(now.variance)
    return np.clip(now.error, -limit, limit)


def _loss(now: Innovations, value: Array, prior: Prior) -> float:
    away = (value - prior.mean) / prior.deviation
    ratio = np.square(now.error) / now.variance
    # Huber: linear beyond the limit, so that an outlier pulls no more than any other.
    big = ratio > LARGEST**2
    pull = np.where(big, 2.0 * LARGEST * np.sqrt(ratio) - LARGEST**2, ratio)
    return float(0.5 * np.sum(np.log(now.variance) + pull) + 0.5 * away @ away)


def _slopes(
    predict: Callable[[Array], Innovations],
    value: Array,
    prior: Prior,
    now: Innovations,
    which: IntArray,
) -> tuple[Array, Array]:
    """Derivatives (which, N) of innovations and of the logarithms of their variances."""
    errors = np.empty((len(which), len(now.error)))
    spreads = np.empty_like(errors)
    for row, k in enumerate(which):
        step = STEP * prior.deviation[k]
        moved = value.copy()
        moved[k] += step
        other = predict(moved)
        if len(other.error) != len(now.error):
            raise EstimationError(LOST)
        errors[row] = (other.error - now.error) / step
        spreads[row] = np.log(other.variance / now.variance) / step
    return errors, spreads


def _normal(
    now: Innovations, slopes: tuple[Array, Array], value: Array, prior: Prior, which: IntArray
) -> tuple[Array, Array, Array]:
    """Information, score, and scores of the blocks (blocks, which)."""
    errors, spreads = slopes
    root = np.sqrt(now.variance)
    scaled = errors / root
    information = scaled @ scaled.T + 0.5 * spreads @ spreads.T
    whitened = _clipped(now) / root
    each = -scaled * whitened + 0.5 * (np.abs(whitened * now.error / root) - 1.0) * spreads
    count = int(now.block.max()) + 1
    sums = [np.bincount(now.block, one, count) for one in each]
    blocks = np.asarray(np.stack(sums, axis=1), dtype=float)
    weight = 1.0 / np.square(prior.deviation[which])
    score = blocks.sum(axis=0) - weight * (value[which] - prior.mean[which])
    return information + np.diag(weight), np.asarray(score), blocks


def _covariance(information: Array, blocks: Array, prior: Prior, free: IntArray) -> Array:
    """Covariance of all unknowns: of the free ones by information and blocks of scores.

    The sandwich of few blocks is rough and may be too small by chance: it only enlarges. What is
    considered adds its own uncertainty through the estimates' sensitivity to it.
    """
    count = len(blocks)
    expected = np.linalg.inv(information[np.ix_(free, free)])
    own = blocks[:, free] - blocks[:, free].mean(axis=0)
    middle = own.T @ own * (count / max(count - 1.0, 1.0))
    middle += np.diag(1.0 / np.square(prior.deviation[free]))
    seen = expected @ middle @ expected
    factor = np.sqrt(np.maximum(np.diag(seen) / np.diag(expected), 1.0))
    fixed = np.setdiff1d(np.arange(len(information)), free)
    spread = np.diag(np.square(prior.deviation[fixed]))
    response = -expected @ information[np.ix_(free, fixed)]
    whole = np.zeros_like(information)
    whole[np.ix_(free, free)] = (
        expected * np.outer(factor, factor) + response @ spread @ response.T
    )
    whole[np.ix_(free, fixed)] = response @ spread
    whole[np.ix_(fixed, free)] = spread @ response.T
    whole[np.ix_(fixed, fixed)] = spread
    return whole


def innovations_of(out: Array, block: IntArray) -> Innovations:
    """The innovations of a filter's (N, 2, outputs), NaN left out; `block` (N,) numbers rows."""
    good = np.isfinite(out[:, 0])
    return Innovations(
        out[:, 0][good], out[:, 1][good], np.broadcast_to(block[:, None], good.shape)[good]
    )


def joined(parts: Sequence[Innovations]) -> Innovations:
    """Innovations of several recordings; their blocks stay apart."""
    block, offset = [], 0
    for part in parts:
        block.append(part.block + offset)
        offset += int(part.block.max()) + 1 if len(part.block) else 0
    return Innovations(
        np.concatenate([part.error for part in parts]),
        np.concatenate([part.variance for part in parts]),
        np.concatenate(block),
    )
