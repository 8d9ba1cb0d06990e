"""The engine `zenoh`: nodes live in several processes without ROS, on rmw_zenoh's wire format.

    with ZenohEngine() as engine:
        node = engine.create_node('sensor_fusion', parameter_files=['car.yaml'])
        SensorFusion(node)
        engine.spin()

A router must run somewhere (`run_router`, `veh-id router`, or a robot's rmw_zenohd). Only this
module and the package `zenoh_engine` import zenoh; without the package eclipse-zenoh the import
says how to install it.
"""

from __future__ import annotations

from veh_identification.runtime.zenoh_engine.engine import ZenohEngine
from veh_identification.runtime.zenoh_engine.node import ZenohNode
from veh_identification.runtime.zenoh_engine.session import (
    DEFAULT_ENDPOINT,
    default_domain,
    open_router,
    run_router,
)
from veh_identification.runtime.zenoh_engine.tools import (
    RawMessage,
    TopicCounts,
    await_topic,
    listen,
    play,
    record,
)

__all__ = [
    'DEFAULT_ENDPOINT',
    'RawMessage',
    'TopicCounts',
    'ZenohEngine',
    'ZenohNode',
    'await_topic',
    'default_domain',
    'listen',
    'open_router',
    'play',
    'record',
    'run_router',
]
