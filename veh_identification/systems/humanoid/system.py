"""The humanoid as a system: recordings of motion and contact wrenches in, outcome out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from veh_identification.findings import Finding
from veh_identification.identification import IdentificationResult
from veh_identification.results.outcome import Outcome
from veh_identification.systems.base import System, Task, paths_of
from veh_identification.systems.humanoid.checks.described import check_described
from veh_identification.systems.humanoid.configuration import load_configuration
from veh_identification.systems.humanoid.identify import identify
from veh_identification.systems.humanoid.live.contact import ContactLive
from veh_identification.systems.humanoid.live.options import ContactOptions
from veh_identification.systems.humanoid.options import (
    IdentifyOptions,
    Subject,
    with_options,
    with_own_robot,
)
from veh_identification.systems.humanoid.outcome import GLOSSARY, humanoid_outcome
from veh_identification.systems.humanoid.recording.reader import Recording, read_recording
from veh_identification.systems.humanoid.setup import check, set_up
from veh_identification.types import Progress


class Humanoid(System[Subject, Recording]):
    """A floating tree of links whose contacts are all measured."""

    name: ClassVar[str] = 'humanoid'
    title: ClassVar[str] = 'humanoid'
    summary: ClassVar[str] = (
        'whole-body parameters from contact wrenches and motion (Ayusawa 2008)'
    )
    verbs: ClassVar[Mapping[str, type]] = {'identify': IdentifyOptions}
    glossary: ClassVar[Mapping[str, str]] = GLOSSARY
    node: ClassVar[str] = 'contact_identification'
    template: ClassVar[str] = 'humanoid.yaml'

    def configure(self, path: Path | None, options: Any = None) -> Subject:
        """The robot that the options name, and the configuration, whose entries they replace."""
        return with_options(Subject(load_configuration(path)), options)

    def read(self, bag: Path, config: Subject, progress: Progress | None = None) -> Recording:
        """Joints, motion of the base and wrenches of one bag."""
        joints = with_own_robot(config, [bag]).described.moving_joints()
        return read_recording(bag, joints, config.configuration, progress)

    def checks(self, recording: Recording, config: Subject) -> list[Finding]:
        """Units, axes, frames, signs and sides of sensors, joints, clocks."""
        robot = with_own_robot(config, paths_of([recording])).described
        return check(robot, recording, config.configuration)

    def described(self, config: Subject) -> list[Finding]:
        """Gravity, weight and a robot that nobody has."""
        return check_described(config.robot, config.configuration)

    def live(self, config: Subject) -> ContactLive:
        """The estimate while the robot moves, from wrenches that come from the world."""
        return ContactLive(config.described, ContactOptions(), [], [], [])

    def identify(self, task: Task[Subject]) -> Outcome[IdentificationResult]:
        """Base parameters of the tree, and a URDF whose links can all exist."""
        given = with_options(task.config, task.options)
        task = replace(task, config=with_own_robot(given, paths_of(task.recordings)))
        robot = task.config.described
        recordings = [self.series(one, task) for one in task.recordings]
        unseen = None if task.validation is None else self.series(task.validation, task)
        setup = set_up(robot, recordings, unseen, task.config.configuration)
        if given.robot is None:
            text = f'the robot is described by {robot.path}, which came with the recording'
            setup.findings.append(Finding('note', 'urdf_of_recording', text, robot.path))
        file = dict(task.arguments).get('config')
        found = identify(setup, None if file is None else str(file))
        return humanoid_outcome(found, task, recordings, unseen)
