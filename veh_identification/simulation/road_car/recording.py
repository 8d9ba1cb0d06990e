"""A simulated drive as `identify car` reads it, without a bag in between."""

from __future__ import annotations

from veh_identification.signals import TimeSeries
from veh_identification.simulation.road_car.car import CORNERS
from veh_identification.simulation.road_car.drive import RoadDrive
from veh_identification.simulation.sensors import EPOCH_NS
from veh_identification.systems.car.recording.reader import CarRecording
from veh_identification.types import Array


def recording_of(drive: RoadDrive, label: str = '') -> CarRecording:
    """The series of a drive with wheel force sensors."""
    streams = {one.kind + one.topic: one for one in drive.streams}

    def series(key: str, values: Array, names: tuple[str, ...]) -> TimeSeries:
        one = streams[key]
        return TimeSeries(one.stamps, values, names, ('',) * len(names), EPOCH_NS, one.topic)

    def whole(key: str, *names: str) -> TimeSeries:
        return series(key, streams[key].values, names)

    corners, wheels = streams['cornersjoint_states'].values, streams['joint_states'].values
    joints = {
        **{
            f'suspension_{corner}': series('cornersjoint_states', corners[:, [i]], (corner,))
            for i, corner in enumerate(CORNERS)
        },
        'steering_fl': series('cornersjoint_states', corners[:, [4]], ('fl',)),
        'steering_fr': series('cornersjoint_states', corners[:, [5]], ('fr',)),
        **{
            f'wheel_{corner}': series('joint_states', wheels[:, [i]], (corner,))
            for i, corner in enumerate(CORNERS)
        },
    }
    return CarRecording(
        label or f'simulated road, seed {drive.seed}',
        whole('imu/data', 'wx', 'wy', 'wz', 'fx', 'fy', 'fz'),
        whole('correvit/velocity', 'vx', 'vy'),
        joints,
        {
            corner: whole(f'wrenchwheel_{corner}/wrench', 'fx', 'fy', 'fz', 'mx', 'my', 'mz')
            for corner in CORNERS
        },
    )
