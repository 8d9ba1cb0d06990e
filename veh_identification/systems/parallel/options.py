"""Options of `veh-id identify parallel`, and what they come to with the configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from veh_identification.errors import InputError, UsageError
from veh_identification.systems.options import make_options, option
from veh_identification.systems.parallel.configuration import Configuration
from veh_identification.systems.parallel.estimation.likelihood import PENALTIES
from veh_identification.systems.parallel.processing import METHODS
from veh_identification.systems.parallel.recording.reader import TOPIC

ESTIMATORS = ('maximum-likelihood', 'gauss-markov')
#: auto: `frequency` where the motion ends with the excitation's harmonics, else `band`.
PROCESSING = ('auto', 'band', *METHODS)
#: Of an excitation that nobody has described.
HARMONICS = 5
#: Seconds: more than this is a delay in other units.
LONGEST_DELAY = 1.0


@dataclass(frozen=True)
class IdentifyOptions:
    """What is not given comes from `identify:` of the configuration, then from the defaults."""

    estimator: str | None = option(
        None,
        'maximum-likelihood (default) also estimates the cut-off; gauss-markov takes it as given',
        choices=ESTIMATORS,
    )
    processing: str | None = option(
        None,
        'from leg lengths to the motion; default: auto, that is frequency (mean periods) where '
        'the motion ends with its harmonics, else band (any motion, both sides low-passed '
        'alike); the others are to be compared with',
        choices=PROCESSING,
    )
    fundamental_hz: float | None = option(
        None,
        "fundamental; default: of the configuration's excitation, else found in the recording, Hz",
        metavar='HZ',
        minimum=0.0,
        maximum=5e3,
    )
    harmonics: int | None = option(
        None,
        "harmonics; default: of the configuration's excitation, else 5",
        metavar='N',
        minimum=0,
        maximum=1000,
    )
    cutoff_hz: float | None = option(
        None,
        'cut-off, of which maximum-likelihood only starts; default: harmonics x fundamental, Hz',
        metavar='HZ',
        minimum=0.0,
        maximum=5e3,
    )
    skip_periods: int | None = option(
        None,
        'periods at the begin that are not used; default: 0',
        metavar='N',
        minimum=0,
        maximum=100_000,
    )
    penalty: str | None = option(
        None,
        'charge for every spectral line that the cut-off passes; default: bic',
        choices=PENALTIES,
    )
    effort_delay: str | None = option(
        None,
        'efforts later than lengths: auto (default) applies what the recording surely says, off, '
        'or a number, s',
        metavar='S',
    )
    topic: str | None = option(None, f'leg lengths and forces; default: {TOPIC}', metavar='TOPIC')


@dataclass(frozen=True)
class Settings:
    """What an identification does, all sources taken together."""

    estimator: str
    processing: str
    fundamental_hz: float | None  # None: found in the recording
    harmonics: int
    cutoff_hz: float | None  # None: harmonics times fundamental
    skip_periods: int
    penalty: str
    effort_delay: float | None  # s, None: found in the recording
    topic: str
    #: Where fundamental, harmonics and cut-off come from, for provenance.
    origins: Mapping[str, str]


def with_options(configuration: Configuration, options: IdentifyOptions | None) -> Configuration:
    """The configuration with those entries of `identify:` replaced that were given."""
    given = {} if options is None else vars(options)
    typed = {name: value for name, value in given.items() if value is not None}
    return replace(configuration, identify={**configuration.identify, **typed})


def settings_of(configuration: Configuration) -> Settings:
    """Everything decided: `identify:` of the configuration, its excitation, the defaults."""
    entries = dict(configuration.identify)
    if entries.get('effort_delay') is False:  # what YAML makes of off
        entries['effort_delay'] = 'off'
    try:
        chosen = make_options(IdentifyOptions, entries, f'{configuration.source}: identify')
    except UsageError as error:
        raise InputError(str(error)) from None
    stored = configuration.excitation
    fundamental, origin = _first(
        (chosen.fundamental_hz, 'identify'),
        (None if stored is None else stored.fundamental_hz, 'excitation'),
        (None, 'found in the recording'),
    )
    harmonics, count_origin = _first(
        (chosen.harmonics, 'identify'),
        (None if stored is None else stored.harmonics, 'excitation'),
        (HARMONICS, 'default'),
    )
    cutoff, cutoff_origin = _first(
        (chosen.cutoff_hz, 'identify'), (None, 'harmonics and fundamental')
    )
    return Settings(
        estimator=chosen.estimator or ESTIMATORS[0],
        processing=chosen.processing or PROCESSING[0],
        fundamental_hz=fundamental,
        harmonics=harmonics,
        cutoff_hz=cutoff,
        skip_periods=chosen.skip_periods or 0,
        penalty=chosen.penalty or PENALTIES[0],
        effort_delay=_delay(chosen.effort_delay or 'auto', configuration.source),
        topic=chosen.topic or TOPIC,
        origins={
            'fundamental_hz': origin,
            'harmonics': count_origin,
            'cutoff_hz': cutoff_origin,
            'effort_delay': 'identify',
        },
    )


def _delay(chosen: str, source: str) -> float | None:
    """Seconds of the option effort_delay; None: to be found."""
    if chosen == 'auto':
        return None
    try:
        delay = 0.0 if chosen == 'off' else float(chosen)
    except ValueError:
        delay = float('nan')
    if not abs(delay) < LONGEST_DELAY:
        raise InputError(
            f'{source}: identify: effort_delay must be auto, off or a number of seconds below '
            f'{LONGEST_DELAY:g}, found {chosen!r}'
        )
    return delay


def _first(*candidates: tuple[Any, str]) -> tuple[Any, str]:
    """The first that is given, zero being none, with its origin; the last one in any case."""
    return next((one for one in candidates if one[0]), candidates[-1])
