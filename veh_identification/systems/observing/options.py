"""Options of `observe` that every observer has."""

from __future__ import annotations

from dataclasses import dataclass

from veh_identification.observation import AdaptiveSettings
from veh_identification.systems.options import option


@dataclass(frozen=True)
class ObserveOptions:
    """What can be set for one run, beside the configuration."""

    gate_probability: float | None = option(
        None,
        'share of good measurements that pass the chi-square gate, instead of that of the '
        'configuration',
        minimum=0.0,
        maximum=1.0,
    )
    window: float = option(
        1.0, 'how late a message may arrive to be used [s]', minimum=0.0, maximum=60.0
    )
    bridge: float = option(
        10.0,
        'longest common silence of all sensors over which the model goes on alone; a longer one '
        'starts the observer anew [s]',
        minimum=0.0,
        maximum=3600.0,
    )
    adaptive: str | None = option(
        None,
        'noise that follows the innovations: of the plant, of the sensors, or of both',
        choices=('plant', 'sensors', 'both'),
    )
    adaptive_time: float = option(
        2.0,
        'time constant of the averages of adaptive noise [s]',
        minimum=0.0,
        maximum=3600.0,
    )
    observability: bool = option(
        False, 'rank of the observability matrix, once a second, and what no sensor sees'
    )
    poles: bool = option(False, 'poles of the corrected model and of the model alone')
    compare_model: bool = option(
        True, 'run the model without corrections as well, where the recording holds the truth'
    )

    def adaptive_settings(self) -> AdaptiveSettings | None:
        """How the noise adapts; None: it does not."""
        if self.adaptive is None:
            return None
        return AdaptiveSettings(
            self.adaptive_time,
            plant=self.adaptive in ('plant', 'both'),
            measurement=self.adaptive in ('sensors', 'both'),
        )
