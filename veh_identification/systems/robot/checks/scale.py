"""Who tells the scale of the efforts? Every mass, inertia and friction is proportional to it."""

from __future__ import annotations

from collections.abc import Sequence

from veh_identification.findings import Finding
from veh_identification.systems.robot.configuration import Configuration
from veh_identification.systems.robot.recording import ArmRecording


def effort_unit(c: Configuration) -> str:
    """Of the effort fields."""
    return 'A' if c.effort == 'current' else 'N m'


def scale_findings(recordings: Sequence[ArmRecording], c: Configuration) -> list[Finding]:
    """Said where neither a known load nor a sensor below the base tells it."""
    if any(one.mass is not None for one in c.payloads) or any(one.wrenches for one in recordings):
        return []
    what = 'the efforts' if c.effort == 'torque' else 'the gains of the drives'
    text = (
        f'nothing in the recordings tells whether {what} have the right scale, and all masses, '
        'inertias, frictions and loads are proportional to it: a recording with a load of known '
        'mass (payloads, mass) or a force sensor below the base would'
    )
    return [Finding('note', 'scale_not_checked', text, 'payloads')]
