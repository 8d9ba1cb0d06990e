"""The observer of the four-bar linkage (Sinigaglia 2016, chapter 3): a mechanism that is known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from veh_identification.findings import Finding
from veh_identification.results.observation import ObserverRun
from veh_identification.results.outcome import Outcome
from veh_identification.systems.base import Task
from veh_identification.systems.four_bar.model import description_of, load
from veh_identification.systems.mechanism.online import MechanismSystem
from veh_identification.systems.mechanism.recording import MechanismRecording
from veh_identification.systems.mechanism.system import MechanismOptions, PlanarMechanism
from veh_identification.types import Progress

GLOSSARY = {
    'crank': 'angle of the crank, counter-clockwise from x',
    'crank rate': 'turning rate of the crank',
    **{
        f'{prefix}{axis}{pin}': f'{words} of pin {pin} along {axis}'
        for prefix, words in (('', 'place'), ('v', 'velocity'))
        for pin in '12'
        for axis in 'xy'
    },
}


@dataclass(frozen=True)
class FourBarOptions(MechanismOptions):
    """Options of `observe four-bar`."""


class FourBar(PlanarMechanism):
    """The linkage of chapters 2 and 3, whose model is wrong on purpose (Table 1).

    Its configuration is the short form of `four_bar/model.py`; everything else is a mechanism's.
    """

    name = 'four-bar'
    title = 'four-bar linkage'
    summary = 'the four-bar linkage (Sinigaglia 2016, chapter 3)'
    verbs: ClassVar[Mapping[str, type]] = {'observe': FourBarOptions}
    glossary = GLOSSARY
    template = 'four_bar.yaml'
    config_optional = True

    def configure(self, path: Path | None, options: Any = None) -> Any:
        """The linkage of a file, or the thesis'."""
        return load(path)

    def read(self, bag: Path, config: Any, progress: Progress | None = None) -> MechanismRecording:
        """One recording: crank angles, torques and the truth."""
        return super().read(bag, description_of(config), progress)

    def described(self, config: Any) -> list[Finding]:
        """Gravity, sizes, masses and inertias that no linkage has."""
        return super().described(description_of(config))

    def checks(self, recording: MechanismRecording, config: Any) -> list[Finding]:
        """What cannot be used, and sensors that the recording does not bring."""
        return super().checks(recording, description_of(config))

    def live(self, config: Any) -> MechanismSystem:
        """What the node drives; its `say` may be set before the start."""
        return super().live(description_of(config))

    def observe(self, task: Task[Any]) -> Outcome[ObserverRun]:
        """States over one recording: the observer, and the model alone where there is a truth."""
        return super().observe(replace(task, config=description_of(task.config)))
