"""Do the sensors of the fusion tell the same story? Of the last minute of what they said."""

from __future__ import annotations

from veh_identification.checks.channels import SPEEDS, Channels
from veh_identification.checks.motion import Story, check_motion
from veh_identification.findings import Finding
from veh_identification.fusion.core import FusionCore


def check_channels(core: FusionCore) -> list[Finding]:
    """Everything that the channels say against each other."""
    journal = core.navigator.journal
    found = {name: journal.of(name) for name in ('imu', 'gnss', 'gnss_velocity', *SPEEDS)}
    antenna = core.satellites.antenna
    imu = core.options.imu
    story = Story(
        Channels({name: one for name, one in found.items() if one is not None}),
        {name: record.topic for name, record in core.records.items()},
        (float(antenna[0]), float(antenna[1])),
        {'antenna': 'gnss.position', 'imu': 'imu.orientation_rpy', 'imu_gravity': 'imu.gravity'},
        core.options.gravity,
        imu.gravity == 'present',
        bool(imu.measured[5]),
    )
    return check_motion(story)
