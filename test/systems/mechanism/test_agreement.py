"""Sensors of a slider-crank that contradict its geometry: the one mistake is named.

The truth is written down in closed form, apart from the multibody model that the check uses.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from veh_identification.observation.streaming import Item
from veh_identification.runtime.graph import find_config
from veh_identification.systems.mechanism.agreement.check import check_agreement
from veh_identification.systems.mechanism.agreement.heard import LastSeconds
from veh_identification.systems.mechanism.configuration import Description, load

CRANK, ROD = 0.05, 0.15
Signals = dict[str, tuple[np.ndarray, np.ndarray]]


@pytest.fixture(scope='module')
def description() -> Description:
    return load(find_config('mechanism_slider_crank.yaml'))


def slider_crank(seconds: float = 8.0) -> Signals:
    """Crank, stroke and rate of the rod with a bias, each at its own times."""
    rng = np.random.default_rng(3)

    def angle(t: np.ndarray) -> np.ndarray:
        return np.asarray(0.6 + 7.0 * t + 1.5 * np.sin(2.2 * t))

    t, slow = np.arange(0.0, seconds, 0.004), np.arange(0.001, seconds, 0.01)
    tick = np.radians(1.0)
    encoder = tick * np.floor(angle(t) / tick)
    phi = angle(slow)
    stroke = CRANK * np.cos(phi) + np.sqrt(ROD**2 - (CRANK * np.sin(phi)) ** 2)
    phi, turning = angle(t), 7.0 + 3.3 * np.cos(2.2 * t)
    rate = -CRANK * np.cos(phi) * turning / np.sqrt(ROD**2 - (CRANK * np.sin(phi)) ** 2)
    return {
        'encoder': (t, encoder),
        'stroke': (slow, stroke + rng.normal(0.0, 0.002, slow.size)),
        'rod_gyro': (t, rate + 0.05 + rng.normal(0.0, 0.02, t.size)),
    }


def items(signals: Signals) -> list[Item]:
    return [
        Item(10**18 + round(1e9 * time), name, (float(value),))
        for name, (times, values) in signals.items()
        for time, value in zip(times, values, strict=True)
    ]


def changed(name: str, change: Callable[[np.ndarray], np.ndarray]) -> Signals:
    signals = slider_crank()
    time, values = signals[name]
    return {**signals, name: (time, change(values))}


def late(names: tuple[str, ...], lag: float) -> Signals:
    return {
        name: (time + lag * (name in names), values)
        for name, (time, values) in slider_crank().items()
    }


def held(values: np.ndarray) -> np.ndarray:
    return np.where(np.arange(values.size) < values.size // 2, values, values[values.size // 2])


def smoothed(values: np.ndarray, constant: float) -> np.ndarray:
    """Behind a low pass of the first order, 250 times a second."""
    made = values.copy()
    for k in range(1, values.size):
        made[k] = made[k - 1] + (1.0 - np.exp(-0.004 / constant)) * (values[k] - made[k - 1])
    return made


def drifting(name: str, share: float) -> Signals:
    signals = slider_crank()
    time, values = signals[name]
    return {**signals, name: ((1.0 + share) * time, values)}


def half(factor: float) -> Callable[[np.ndarray], np.ndarray]:
    return lambda values: (
        values * np.where(np.arange(values.size) < 0.4 * values.size, 1.0, factor)
    )


DEGREES = 180.0 / np.pi
CASES: dict[str, tuple[Signals, str, str]] = {
    'encoder in degrees': (changed('encoder', lambda v: DEGREES * v), 'unit', 'degrees'),
    'encoder behind a gear': (changed('encoder', lambda v: 3.0 * v), 'scale', '3 times too much'),
    'encoder loses counts': (changed('encoder', lambda v: 0.97 * v), 'scale', '0.97 times'),
    'encoder on a worn wheel': (changed('encoder', lambda v: 1.012 * v), 'scale', '1.01 times'),
    'zero of the encoder': (changed('encoder', lambda v: v + 0.5), 'zero', '30 degrees off'),
    'stroke in mm': (changed('stroke', lambda v: 1e3 * v), 'unit', 'in mm'),
    'stroke inwards': (changed('stroke', lambda v: 0.4 - v), 'sign', 'stroke'),
    'zero of the stroke': (changed('stroke', lambda v: v + 0.02), 'zero', 'stroke'),
    # Which of the two no geometry tells: the text names both.
    'gyroscope of the wrong sign': (changed('rod_gyro', lambda v: -v), 'sign', 'rod_gyro'),
    'gyroscope 1.3 times': (changed('rod_gyro', lambda v: 1.3 * v), 'scale', '1.3 times'),
    'gyroscope late': (late(('rod_gyro',), 0.03), 'late', '30 ms late'),
    'joints late': (late(('encoder', 'stroke'), 0.04), 'late', 'joint_states'),
    'stroke late': (late(('stroke',), 0.06), 'late', 'stroke seems to be about 60 ms'),
    'names exchanged': (
        {
            **slider_crank(),
            'encoder': slider_crank()['stroke'],
            'stroke': slider_crank()['encoder'],
        },
        'joints_swapped',
        'stroke',
    ),
    'gyroscope stuck': (changed('rod_gyro', held), 'stuck', 'rod_gyro'),
    'encoder stuck': (changed('encoder', held), 'stuck', 'encoder'),
    'gyroscope smoothed': (changed('rod_gyro', lambda v: smoothed(v, 0.03)), 'late', 'smoothed'),
    'clock of the gyroscope': (drifting('rod_gyro', 0.01), 'clock_drift', '+1 % fast'),
    'gyroscope of two sources': (
        changed('rod_gyro', lambda v: v * (np.arange(v.size) % 2)),
        'two_sources',
        'rod_gyro',
    ),
    'gyroscope in steps': (changed('rod_gyro', np.round), 'coarse', 'steps of 1 rad/s'),
    'encoder in steps': (changed('encoder', lambda v: 0.5 * np.floor(v / 0.5)), 'coarse', '0.5'),
    'gyroscope cut off': (
        changed('rod_gyro', lambda v: np.clip(v, -1.5, 1.5)),
        'saturated',
        'rod_gyro',
    ),
    'zero of the encoder later': (
        changed('encoder', lambda v: v + 0.7 * (np.arange(v.size) > 0.4 * v.size)),
        'zero',
        'from about 3.2 s',
    ),
    'gyroscope in degrees later': (changed('rod_gyro', half(DEGREES)), 'unit', 'from about 3.2 s'),
    'encoder of the wrong sign later': (
        changed('encoder', half(-1.0)),
        'sign',
        'from about 3.2 s',
    ),
}


@pytest.mark.parametrize('case', CASES)
def test_the_right_cause_stands_alone(description: Description, case: str) -> None:
    signals, code, word = CASES[case]
    (cause,) = check_agreement(items(signals), description)
    assert (cause.level, cause.code) == ('bad', code) and word in cause.text


def test_a_point_that_is_drawn_elsewhere(description: Description) -> None:
    """The crank becomes longer and the rod shorter."""
    points = {**description.points, 'pin': replace(description.points['pin'], at=(0.058, 0.0))}
    (cause,) = check_agreement(items(slider_crank()), replace(description, points=points))
    assert (cause.level, cause.code) == ('bad', 'geometry') and 'point pin' in cause.text


def test_a_gyroscope_of_another_body(description: Description) -> None:
    sensors = description.sensors
    wrong = {**sensors, 'rod_gyro': replace(sensors['rod_gyro'], body='crank')}
    (cause,) = check_agreement(items(slider_crank()), replace(description, sensors=wrong))
    assert (cause.level, cause.code) == ('bad', 'other_body') and 'with rod' in cause.text


@pytest.mark.parametrize('wrapped', [False, True])
def test_sensors_that_agree(description: Description, wrapped: bool) -> None:
    """Also an encoder that begins anew after each turn, and samples that a node kept."""
    signals = changed('encoder', lambda v: v % (2.0 * np.pi) if wrapped else v)
    assert check_agreement(items(signals), description) == []
    kept = LastSeconds(tuple(signals))
    for one in items(signals):
        kept.take(one.key, one.time_ns, one.payload)
    assert check_agreement(kept.copied().items(), description) == []


def test_a_mechanism_that_rests_or_says_little_is_left_alone(description: Description) -> None:
    resting = {
        name: (time, np.full(time.size, values[0]))
        for name, (time, values) in slider_crank().items()
    }
    assert check_agreement(items(resting), description) == []
    few = {name: (time[:20], values[:20]) for name, (time, values) in slider_crank().items()}
    assert check_agreement(items(few), description) == []
    alone = {'stroke': slider_crank()['stroke']}
    assert check_agreement(items(alone), description) == []


@pytest.mark.parametrize(
    ('change', 'code'),
    [(lambda v: v + 1.0, 'zero'), (lambda v: v + np.linspace(0.0, 1.2, v.size), 'drift')],
)
def test_zeros_that_quick_motion_hides(description: Description, change, code: str) -> None:
    (cause,) = check_agreement(items(changed('rod_gyro', change)), description)
    assert cause.code == code and cause.level in ('warn', 'bad')


def test_a_line_of_a_slider_that_is_drawn_elsewhere(description: Description) -> None:
    """The piston runs 30 mm beside the bearing of the crank."""
    joints = {**description.joints, 'bore': replace(description.joints['bore'], through=(0, 0.03))}
    (cause,) = check_agreement(items(slider_crank()), replace(description, joints=joints))
    assert (cause.level, cause.code) == ('bad', 'geometry')
