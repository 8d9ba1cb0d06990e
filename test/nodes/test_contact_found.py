"""The graph `contact_identification` finds plates, sensors on links and the world by itself."""

from __future__ import annotations

import copy

import pytest
from live_harness import Item, codes, run

from veh_identification.fusion.core import FusionCore
from veh_identification.fusion.options import FusionOptions
from veh_identification.nodes.contact_identification.node import ContactIdentification
from veh_identification.nodes.sensor_fusion.found_wrenches import PATIENCE, FoundWrenches
from veh_identification.nodes.sensor_fusion.steady_frames import STAYS
from veh_identification.runtime.bags import BagReader, BagWriter
from veh_identification.runtime.transforms import Transform
from veh_identification.simulation.humanoid.scenarios import write_walk

NAME = 'contact_identification'
PARAMETERS = f'/{NAME}/parameters'
MOTION = ('/base/pose', '/joint_states', '/tf_static')
PLATE, FEET = '/force_plate/wrench', ('/l_foot/wrench', '/r_foot/wrench')
NAMED = """
sensor_fusion:
  ros__parameters:
    {rate: 200.0, world_frame: world, filter: {cutoff: 20.0}, merge: {max_wait: 0.05},
     mocap: {topic: base/pose}, joints: {topic: joint_states}, %s}
contact_identification:
  ros__parameters: {urdf: ut_mu2_like_cad.urdf, %s}
"""
BY_NAME = {
    'plate': (
        'wrench_sensors: [force_plate], force_plate: {topic: force_plate/wrench}',
        'start_seconds: 2.5',
    ),
    'feet': (
        'wrench_sensors: [l, r], l: {topic: l_foot/wrench, attached: link}, '
        'r: {topic: r_foot/wrench, attached: link}',
        'link_sensors: [l, r], link_frames: [l_ankle_sensor, r_ankle_sensor]',
    ),
}


@pytest.fixture(scope='module')
def bag(tmp_path_factory):
    path = tmp_path_factory.mktemp('walk') / 'walk'
    with BagWriter(path) as writer:
        write_walk(writer, 6.0, 11, 1.0, lambda done, total: None)
    return path


def recorded(bag, *topics):
    with BagReader(bag) as reader:
        return list(reader.raw([*MOTION, *topics]))


def identified(source, **options):
    node, sink = run(ContactIdentification, NAME, source, fusion=True, **options)
    return node, sink, {p.name: p for p in sink.of(PARAMETERS)[-1].parameters}


def assert_same(found, named) -> None:
    assert found.keys() == named.keys()
    for name, value in named.items():
        assert found[name].value == pytest.approx(value.value, rel=1e-9, abs=1e-12), name
        assert found[name].std == pytest.approx(value.std, rel=1e-9, abs=1e-12), name


@pytest.mark.parametrize('kind', ['plate', 'feet'])
def test_without_names_the_estimate_is_that_with_names(bag, tmp_path, kind) -> None:
    config = tmp_path / 'named.yaml'
    config.write_text(NAMED % BY_NAME[kind])
    # The recording of the plate holds the sensors in the feet as well, which then are not used.
    source = recorded(bag, *FEET, *([PLATE] if kind == 'plate' else []))
    named = identified(source, config=config)[2]
    config.write_text(NAMED.replace('world_frame: world, ', '') % ('find_wrenches: true', ''))
    node, sink, found = identified(source, config=config)
    assert_same(found, named)
    state = sink.states()[-1].message
    assert state.header.frame_id == 'world'
    if kind == 'plate':
        assert (state.wrench_names, state.wrench_frames) == (['force_plate'], ['base_link'])
        assert node.model.states.plate_names == ['force_plate']
        assert node.model.robot.mass_beyond == 0.0
    else:
        assert state.wrench_frames == ['l_ankle_sensor', 'r_ankle_sensor']
        assert node.model.robot.mass_beyond > 0.1
    status = sink.statuses('sensor_fusion')[-1]
    assert 'wrench_found' in codes(status)
    told = ' '.join(item.value for item in status.values)
    assert ('force_plate/wrench is taken for a force plate, by its name' in told) is (
        kind == 'plate'
    )
    assert ('l_foot/wrench (frame l_ankle_sensor) is not used' in told) is (kind == 'plate')


def renamed(bag, late_seconds):
    """A plate of another name in another world, which speaks late, as its transform does."""
    source = []
    with BagReader(bag) as reader:
        start = None
        for one in reader.messages([*MOTION, PLATE]):
            start = one.time_ns if start is None else start
            topic, time_ns, message = one.topic, one.time_ns, copy.deepcopy(one.message)
            if topic == '/base/pose':
                message.header.frame_id = 'mocap'
            elif topic == PLATE:
                message.header.frame_id = 'kistler'
                if time_ns - start < late_seconds * 1e9:
                    continue
                topic = '/lab/kistler'
            elif topic == '/tf_static':
                for transform in message.transforms:
                    transform.header.frame_id = 'mocap'
                    transform.child_frame_id = 'kistler'
                time_ns = start + round((late_seconds + 2.5) * 1e9)
            source.append(Item(time_ns, topic, message, one.typename))
    return sorted(source, key=lambda item: item.time_ns)


def test_a_plate_of_any_name_that_comes_late_is_found_in_the_world_of_the_poses(bag) -> None:
    node, sink, found = identified(renamed(bag, 0.5), known=False)
    mass = found['total_mass']
    assert mass.value == pytest.approx(8.0, abs=max(4.0 * mass.std, 0.02))
    states = [one.message for one in sink.states()]
    assert states[-1].header.frame_id == 'mocap'
    assert states[-1].wrench_names == ['kistler'] and states[-1].wrench_frames == ['base_link']
    # Before its transform it could be anything: a sensor on a link that the URDF does not have.
    assert any(list(one.wrench_frames) == ['kistler'] for one in states)
    reasons = node.model.skipped.reasons
    assert any('cannot be placed' in text and 'kistler' in text for text in reasons)
    told = ' '.join(item.value for item in sink.statuses('sensor_fusion')[-1].values)
    assert 'lab/kistler is taken for a force plate, by its type and its frame' in told
    assert 'pose of kistler in mocap from /tf_static' in told


class Heard:
    """A finder with topics that are played by hand."""

    def __init__(self, *topics: str, posed: bool = True) -> None:
        self.core = FusionCore(FusionOptions(world_frame='world'))
        self.topics, self.takers, self.taken = list(topics), {}, []
        self.finder = FoundWrenches(
            self.core,
            lambda: [(topic, ['geometry_msgs/msg/WrenchStamped']) for topic in self.topics],
            self.takers.__setitem__,
            lambda name, frame: lambda fields: self.taken.append((name, fields)),
            posed,
        )
        self.finder.look('/')

    def say(self, topic: str, frame: str, value: int = 0) -> None:
        self.takers[topic]((0, value, frame))
        if self.finder.undecided:
            self.finder.choose('world')

    @property
    def shown(self) -> list[str]:
        return self.core.instruments.wrench_names


def test_the_choice_waits_for_all_topics_and_loses_no_sample() -> None:
    heard = Heard('/l_foot/wrench', '/r_foot/wrench', '/force_plate/wrench', '/wheel/wrench')
    heard.say('/l_foot/wrench', 'l_sole', 1)
    heard.say('/force_plate/wrench', 'plate', 2)
    assert heard.shown == []
    heard.say('/r_foot/wrench', 'r_sole', 3)  # one of no usual name is not waited for
    assert heard.shown == ['plate']
    assert heard.taken == [('plate', (0, 2, 'plate'))]
    heard.say('/force_plate/wrench', 'plate', 4)
    assert heard.taken[-1] == ('plate', (0, 4, 'plate'))


def test_silent_topics_are_waited_for_some_reports_and_late_ones_taken_up() -> None:
    heard = Heard('/l_foot/wrench', '/force_plate/wrench')
    heard.say('/l_foot/wrench', 'l_sole')
    for _ in range(PATIENCE):
        assert heard.shown == []
        heard.finder.report('world')
    assert heard.shown == ['l_sole'] and heard.core.instruments.wrench_frames == ['l_sole']
    heard.topics.append('/force_plate_2/wrench')
    heard.finder.look('/')
    heard.say('/force_plate_2/wrench', 'second')
    assert heard.shown == ['second']
    assert heard.core.records['l_sole'].topic == ''
    heard.say('/force_plate/wrench', 'first')
    assert heard.shown == ['first', 'second']


def test_without_a_pose_sensors_go_before_plates_and_equal_frames_get_names_of_topics() -> None:
    heard = Heard('/a/wrench', '/b/wrench', '/c', posed=False)
    heard.core.frames.set('world', 'floor', Transform())
    for topic, frame in (('/a/wrench', 'ft'), ('/b/wrench', 'ft'), ('/c', 'floor')):
        heard.say(topic, frame)
    assert heard.shown == ['a', 'b']
    assert heard.core.instruments.wrench_frames == ['ft', 'ft']


def test_a_frame_that_was_wrong_at_first_does_not_stay() -> None:
    heard = Heard('/force_plate/wrench')
    heard.say('/force_plate/wrench', 'nonsense', 1)
    heard.say('/force_plate/wrench', 'plate', 2)
    heard.say('/force_plate/wrench', 'other', 3)  # one after the other: nothing stays
    assert heard.shown == ['nonsense']
    for k in range(STAYS):
        heard.say('/force_plate/wrench', 'plate', 4 + k)
    assert heard.shown == ['plate'] and heard.core.records['nonsense'].topic == ''
    assert heard.taken[-1] == ('plate', (0, 3 + STAYS, 'plate'))


def test_topics_of_other_robots_are_left_alone() -> None:
    heard = Heard()
    heard.topics = ['/one/l_foot/wrench', '/two/l_foot/wrench']
    heard.finder.look('/one')
    assert list(heard.takers) == ['/one/l_foot/wrench']


def test_states_without_frames_are_those_at_the_base(bag) -> None:
    source = recorded(bag, PLATE)[:1500]
    states = run(ContactIdentification, NAME, source, fusion=True)[1].states()
    for one in states:
        one.message.wrench_frames = []
    node, _ = run(ContactIdentification, NAME, states)
    assert node.model.states.plate_names == ['force_plate']
    assert node.model.received == len(states)
