"""Arms and other fixed-base trees as a system: joint states in, outcome out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from veh_identification.errors import EstimationError, VehIdError
from veh_identification.findings import Finding
from veh_identification.identification import IdentificationResult
from veh_identification.results.outcome import Outcome
from veh_identification.systems.base import System, Task
from veh_identification.systems.robot.base_wrench import Places
from veh_identification.systems.robot.checks.base_wrench import judged_wrenches
from veh_identification.systems.robot.checks.channels import sensor_findings
from veh_identification.systems.robot.checks.described import check_described
from veh_identification.systems.robot.checks.scale import effort_unit, scale_findings
from veh_identification.systems.robot.checks.whole import whole_findings
from veh_identification.systems.robot.configuration import load_configuration
from veh_identification.systems.robot.estimation.estimate import estimate
from veh_identification.systems.robot.glossary import GLOSSARY
from veh_identification.systems.robot.live.model import LiveOptions, RobotLive
from veh_identification.systems.robot.options import IdentifyOptions, Subject, with_options
from veh_identification.systems.robot.outcome import robot_outcome
from veh_identification.systems.robot.recording import ArmRecording, read_arm
from veh_identification.systems.robot.setup import set_up
from veh_identification.types import Progress


class RobotArm(System[Subject, ArmRecording]):
    """A tree on a fixed root whose joints have measured torques or currents."""

    name: ClassVar[str] = 'robot'
    aliases: ClassVar[tuple[str, ...]] = ('arm',)
    title: ClassVar[str] = 'robot'
    summary: ClassVar[str] = 'arms and other fixed-base trees from joint torques or currents'
    verbs: ClassVar[Mapping[str, type]] = {'identify': IdentifyOptions}
    glossary: ClassVar[Mapping[str, str]] = GLOSSARY
    node: ClassVar[str] = 'robot_identification'
    template: ClassVar[str] = 'robot.yaml'

    def configure(self, path: Path | None, options: Any = None) -> Subject:
        """The robot that the options name, and the configuration, whose entries they replace."""
        return with_options(Subject(load_configuration(path)), options)

    def read(self, bag: Path, config: Subject, progress: Progress | None = None) -> ArmRecording:
        """Positions and efforts of the joints of the URDF."""
        joints, c = config.described.moving_joints(), config.configuration
        return read_arm(bag, joints, c.joint_states, progress, Places.of(config.described, c))

    def checks(self, recording: ArmRecording, config: Subject) -> list[Finding]:
        """Units, signs, names, gravity, stuck and saturated sensors."""
        robot, c = config.described, config.configuration
        found = [*recording.findings, *self.described(config)]
        found += [*sensor_findings(robot, recording, effort_unit(c))]
        if any(one.level == 'bad' for one in found):
            return found  # the cause; what follows from it is no news
        return [
            *found,
            *whole_findings(robot, [recording], c),
            *judged_wrenches(robot, [recording], c)[1],
        ]

    def described(self, config: Subject) -> list[Finding]:
        """Gravity, loads and links that no arm has."""
        return check_described(config.robot, config.configuration)

    def live(self, config: Subject) -> RobotLive:
        """The estimate while the robot moves, and a watch over its payload."""
        return RobotLive(config.described, config.configuration, LiveOptions())

    def identify(self, task: Task[Subject]) -> Outcome[IdentificationResult]:
        """Base parameters, friction and payloads, and a URDF whose links can all exist."""
        task = replace(task, config=with_options(task.config, task.options))
        robot, c = task.config.described, task.config.configuration
        given = [*task.recordings, *(getattr(task.options, 'payload', None) or ())]
        recordings = [self.series(one, task) for one in given]
        unseen = None if task.validation is None else self.series(task.validation, task)
        every = [*recordings, *([unseen] if unseen is not None else [])]
        checks = [one for each in every for one in sensor_findings(robot, each, effort_unit(c))]
        spoilt = [one for one in checks if one.level == 'bad']
        checks += [] if spoilt else whole_findings(robot, recordings, c)
        checks += [*self.described(task.config), *scale_findings(recordings, c)]
        recordings, told = judged_wrenches(robot, recordings, c)
        checks += told
        if unseen is not None:
            (unseen,), _ = judged_wrenches(robot, [unseen], c)
        try:
            found = estimate(set_up(robot, recordings, unseen, c))
        except VehIdError as error:
            if not spoilt:
                raise
            raise EstimationError(f'{spoilt[0].text} ({error})') from None
        return robot_outcome(found, task, recordings, unseen, checks)
