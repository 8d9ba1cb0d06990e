"""The designs by the names of their systems. Adding one is a folder and one line here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from veh_identification.systems.registry import Entry, chosen, instance

if TYPE_CHECKING:
    from veh_identification.design.base import Design

DESIGNS: tuple[Entry, ...] = (
    Entry(
        'car',
        'veh_identification.design.car.design:CarDesign',
        ('design',),
        'which steering sine, speed and duration bring standard deviations below wanted ones',
    ),
    Entry(
        'humanoid',
        'veh_identification.design.humanoid.design:HumanoidDesign',
        ('design',),
        'motions on both feet and on each one that excite every parameter',
    ),
    Entry(
        'parallel',
        'veh_identification.design.parallel.design:ParallelDesign',
        ('design',),
        'periodic excitation under the limits of the legs (Abdellatif 2009, section 4)',
        ('hexapod',),
    ),
    Entry(
        'robot',
        'veh_identification.design.robot.design:RobotDesign',
        ('design',),
        'periodic excitation of an arm under limits of position, speed and torque',
        ('arm',),
    ),
)


def entries() -> list[Entry]:
    """All designs."""
    return list(DESIGNS)


def find(name: str) -> Design[Any, Any]:
    """The design of a name or of one of its aliases."""
    made: Design[Any, Any] = instance(chosen('design', name, DESIGNS))
    return made
