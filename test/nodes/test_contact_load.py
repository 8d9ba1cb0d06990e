"""A load that a humanoid picks up and puts down again while `contact_identification` runs."""

from __future__ import annotations

import pytest
from live_harness import Item, LoadedMotion, run

from veh_identification.nodes.contact_identification.node import ContactIdentification
from veh_identification.runtime.messages import stamp_ns
from veh_identification.simulation.humanoid.gait import walking
from veh_identification.simulation.humanoid.scenarios import robot_path
from veh_identification.simulation.humanoid.sensors import HumanoidSensors, readings
from veh_identification.systems.humanoid.robot import load_robot

NAME = 'contact_identification'
TOPIC = f'/{NAME}/parameters'
PLATE = ('/base/pose', '/joint_states', '/force_plate/wrench', '/tf_static')


def by_name(message) -> dict:
    return {p.name: p for p in message.parameters}


def test_a_load_is_noticed_measured_and_its_end_too() -> None:
    robot = load_robot(robot_path())
    motion = LoadedMotion(robot.model(), walking(21.0, seed=3))
    motion.load_mass, motion.load_from, motion.load_until = 0.4, 14.0, 17.0
    made = readings(motion, robot, HumanoidSensors(sensor_rate=1.0), 21.0, 3)
    source = [Item(r.log_ns, r.topic, r.message) for r in made if r.topic in PLATE]
    node, sink = run(ContactIdentification, NAME, source, fusion=True, memory=1.5)
    start = source[0].time_ns
    # By the stamp, which is when it was estimated: it is published a lag later.
    seen = {
        (stamp_ns(m) - start) * 1e-9: m for m in sink.of(TOPIC) if 'load has changed' in m.advice
    }
    print(f'load from 14 to 17 s seen from {min(seen):.1f} to {max(seen):.1f} s')
    assert 14.0 < min(seen) <= 16.0
    assert 17.0 < max(seen) <= 20.0
    at = by_name(seen[min(t for t in seen if t >= 16.0)])
    change = at['change.base_link.M']
    assert change.value == pytest.approx(0.4, abs=max(0.04, 4.0 * change.std))
    assert at['total_mass'].value == pytest.approx(8.0, rel=0.01)  # held
    assert not node.model.live.changed and node.model.live.held_rows > 0
    assert by_name(sink.of(TOPIC)[-1])['total_mass'].value == pytest.approx(8.0, rel=0.01)
