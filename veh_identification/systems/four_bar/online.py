"""The four-bar linkage as a stream: crank angles and torques in, steps out."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from veh_identification.findings import Finding
from veh_identification.observation import AdaptiveSettings, ErrorEKF, Measurement, ObservedModel
from veh_identification.observation.streaming.arrivals import Item
from veh_identification.systems.four_bar.filter_setup import make_filter
from veh_identification.systems.four_bar.model import Setup

STREAMS = ('crank', 'torque')
#: The sensors that a recording or a topic can bring.
RECORDED = ('encoder',)


class FourBarSession:
    """The started linkage: steps as long as the encoder's period, at most those of the setup."""

    def __init__(self, setup: Setup, filter_: ErrorEKF, start_ns: int, step_ns: int) -> None:
        self.setup, self.filter, self.step_ns = setup, filter_, step_ns
        self.origin_ns = start_ns - step_ns
        model = filter_.model
        assert isinstance(model, ObservedModel)
        self.observed, self.model = model, model.model
        self._torque: float | None = None
        self._pending: deque[Item] = deque()
        self._watched = 'encoder' in filter_.sensors

    def measurements(self, item: Item) -> list[Measurement]:
        """The crank angle."""
        if not self._watched:
            return []
        return [
            Measurement('encoder', (item.time_ns - self.origin_ns) * 1e-9, np.array(item.payload))
        ]

    def take_input(self, item: Item) -> None:
        """Keep a torque."""
        self._pending.append(item)

    def inputs(self, k: int, end_ns: int) -> Any:
        """Torque on the crank; None: that of the configuration."""
        while self._pending and self._pending[0].time_ns <= end_ns + 1:
            self._torque = self._pending.popleft().payload[0]
        return self._torque

    def pseudo(self, k: int, time: float) -> list[Measurement]:
        """None."""
        return []


class FourBarSystem:
    """The linkage of a configuration; `sensors` empty gives the uncorrected model."""

    inputs = frozenset({'torque'})

    def __init__(
        self,
        setup: Setup,
        *,
        say: Callable[[Finding], None],
        sensors: Sequence[str] = RECORDED,
        force: bool = False,
        adaptive: AdaptiveSettings | None = None,
    ) -> None:
        self.setup, self.sensors, self.say = setup, tuple(sensors), say
        self.force, self.adaptive = force, adaptive

    def start(self, items: list[Item]) -> FourBarSession:
        """Start at the first sample."""
        stamps = [item.time_ns for item in items if item.key == 'crank']
        longest = round(self.setup.step * 1e9)
        step_ns = longest
        if len(stamps) > 1:
            period = int(np.median(np.diff(stamps)))
            # a slow encoder is bridged by steps of the model's own
            step_ns = period if 0 < period <= longest else longest
        else:
            text = 'no crank angle: the model goes on alone'
            self.say(Finding('warn', 'no_crank', text, 'joint_states, field position'))
        if len(items) == len(stamps):
            text = 'no torque on the crank: that of the configuration is used'
            self.say(Finding('note', 'no_torque', text, 'joint_states, field effort'))
        return FourBarSession(
            self.setup,
            make_filter(self.setup, self.sensors, self.force, self.adaptive),
            items[0].time_ns,
            step_ns,
        )
