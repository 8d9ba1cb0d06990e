"""A mechanism that started wrong: one stray sample, or a model that every sensor contradicts."""

from __future__ import annotations

import math

import numpy as np
import pytest

from veh_identification.findings import Finding
from veh_identification.observation.streaming import OnlineObserver, OnlineOptions
from veh_identification.runtime.bags import BagReader, BagWriter
from veh_identification.runtime.share import share_directory
from veh_identification.simulation.scenarios import simulate
from veh_identification.systems.driver import run
from veh_identification.systems.mechanism import online
from veh_identification.systems.mechanism.configuration import load
from veh_identification.systems.mechanism.online import MechanismSystem

EPOCH_NS = 1_700_000_000_000_000_000
CRANK, ROD = 0.05, 0.15
RATE = 8.0  # rad/s
#: A torque that keeps the crank turning is beside the point: the encoder corrects it.
DESCRIPTION = load(share_directory() / 'config' / 'mechanism_slider_crank.yaml')


def stroke(angle: float) -> float:
    return CRANK * math.cos(angle) + math.sqrt(ROD**2 - (CRANK * math.sin(angle)) ** 2)


def rod_rate(angle: float) -> float:
    """Of the rod, which leans by -asin(CRANK / ROD sin(angle))."""
    lean = CRANK / ROD * math.sin(angle)
    return -RATE * CRANK / ROD * math.cos(angle) / math.sqrt(1.0 - lean**2)


def observed(seconds: float, stray: int = -1) -> tuple[OnlineObserver, dict[float, float]]:
    """A crank that turns steadily; sample `stray` of the encoder shows another place."""
    said: list[Finding] = []
    errors: dict[float, float] = {}

    def made(session, end_ns, innovations):
        time = (end_ns - EPOCH_NS) * 1e-9
        column = session.mechanism.columns['stroke']
        errors[time] = float(session.model.q[column]) - stroke(RATE * time)

    observer = OnlineObserver(
        MechanismSystem(DESCRIPTION, say=said.append),
        OnlineOptions(lag=0.01, window=0.02, settle=0.1),
        made,
    )
    for k in range(round(seconds / 0.002)):
        time = k * 0.002
        angle, stamp = RATE * time, EPOCH_NS + k * 2_000_000
        observer.push('encoder', stamp, (angle + (1.26 if k == stray else 0.0),))
        observer.push('stroke', stamp, (stroke(angle),))
        observer.push('rod_gyro', stamp, (rod_rate(angle),))
        observer.poll()
    return observer, errors


def largest(errors: dict[float, float], since: float) -> float:
    return max(abs(error) for time, error in errors.items() if time >= since)


def test_one_stray_sample_does_not_choose_the_rate_of_the_start():
    observer, errors = observed(0.5, stray=4)
    assert observer.starts == 1
    assert largest(errors, 0.2) < 2e-3


@pytest.mark.parametrize('patience', [online.LOST, math.inf])
def test_a_model_that_every_sensor_contradicts_starts_anew(monkeypatch, patience):
    """On the other branch of the assembly, where the model would stay for longer."""
    monkeypatch.setattr(online, 'LOST', patience)
    first = MechanismSystem.start
    started = []

    def wrong_at_first(self, items):
        session = first(self, items)
        session.patience = patience
        if not started:  # the piston left of the crank's centre
            model = session.model
            model.q[:] = _mirrored(session, model.q)
        started.append(session)
        return session

    monkeypatch.setattr(MechanismSystem, 'start', wrong_at_first)
    observer, errors = observed(1.9)
    assert largest(errors, 0.15) > 0.1  # it was there
    if patience == math.inf:
        assert observer.starts == 1
        assert largest(errors, 1.5) > 0.1
        return
    assert observer.starts == 2
    assert largest(errors, 1.5) < 2e-3
    told = [event for event in observer.events if event.code == 'model_failed']
    assert len(told) == 1 and 'all sensors have contradicted it' in told[0].text


def test_each_time_in_vain_waits_twice_as_long():
    system = MechanismSystem(DESCRIPTION, say=lambda finding: None)
    waited = []
    for _ in range(7):
        waited.append(system._patience())
        session = system.start([online.Item(EPOCH_NS, 'encoder', (0.0,))])
        session.lost = True
    assert waited == [1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0]


def _mirrored(session, q):
    """The same angle of the crank with the piston on the other side of the bore."""
    columns, names = session.mechanism.columns, list(session.mechanism.names)
    found = q.copy()
    angle = q[columns['crank']]
    at = CRANK * np.cos(angle) - np.sqrt(ROD**2 - (CRANK * np.sin(angle)) ** 2)
    found[columns['stroke']] += at - q[names.index('x_piston')]
    found[names.index('x_piston')] = at
    return found


def test_an_observer_that_gives_up_says_so(tmp_path):
    """A torque in N mm throws the model off for good: an outcome with the reason, no traceback."""
    bag = tmp_path / 'bag'
    path = share_directory() / 'config' / 'mechanism_slider_crank.yaml'
    simulate('mechanism', tmp_path / 'right', duration=2.0, config=path)
    with BagReader([tmp_path / 'right']) as reader, BagWriter(bag) as writer:
        for raw in reader.raw():
            message = raw.decode()
            if raw.topic == '/joint_states' and len(message.effort):
                message.effort = 1e3 * np.array(message.effort)
            writer.write_message(raw.topic, message, raw.time_ns)
    outcome = run('observe', 'mechanism', [bag], config=path)
    told = {one.code: one for one in outcome.findings}
    assert told['observer_ended'].level == 'bad'
    assert outcome.verdict.level == 'no'
