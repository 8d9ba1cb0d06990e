"""Small contents that the tests of the reports share."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from veh_identification.observation import Innovation
from veh_identification.reporting.content import (
    FitRow,
    IdentificationContent,
    ObservationContent,
    ParameterRow,
    Provenance,
    StateSeries,
    Trace,
    TraceSet,
)
from veh_identification.reporting.health import health_row
from veh_identification.reporting.series import colour_of
from veh_identification.results.observation import ObserverRun, observation_outcome
from veh_identification.runtime.bags import BagWriter
from veh_identification.runtime.messages import header, new

ORIGIN = Provenance(
    'veh-id identify car --bag <run> --out DIR',
    (('bag', '<run>'),),
    (('veh_identification', '0'),),
    {'cutoff_hz': 5.0, 'note': '</script>'},
)


@pytest.fixture(scope='session')
def identification() -> IdentificationContent:
    """A sound identification of four parameters from two equations, validated."""
    rng = np.random.default_rng(0)
    time = np.arange(2000) * 0.02
    traces = []
    for name, unit in (('FX', 'N'), ('NZ', 'N m')):
        measured = 100.0 * np.sin(time) + rng.standard_normal(time.size)
        traces.append(Trace(name, unit, time, measured, 100.0 * np.sin(time)))
    colours = [colour_of(t.equation, t.unit, t.time, t.error) for t in traces]
    return IdentificationContent(
        title='Car: run <one>',
        system='car',
        estimator='weighted',
        samples=2000,
        excluded=0,
        seconds=40.0,
        condition_number=12.0,
        correlation_condition=30.0,
        noise_model='coloured',
        parameters=(
            ParameterRow('Mc', 'kg', 1500.0, 1535.0, 1.0, 'well', '', 1536.0),
            ParameterRow('ZZc', 'kg m^2', 6000.0, 6290.0, 9.0, 'well', '', 6300.0),
            ParameterRow('XYc', 'kg m^2', 0.0, -0.9, 2.6, 'small', 'sigma is small', 0.0),
            ParameterRow('Cx', 'N s^2/m^2', float('nan'), 0.45, 0.01, 'well', '', 0.45),
        ),
        fit=(
            FitRow('FX', 'N', 1.0, 0.014, 1.1, 0.015, 20.0),
            FitRow('NZ', 'N m', 1.0, 0.014, 1.0, 0.014, 10.0),
        ),
        trace_sets=(
            TraceSet('Validation recording two', True, tuple(traces)),
            TraceSet('Identification data: one', False, tuple(traces)),
        ),
        colours=tuple(one for one in colours if one is not None),
        names=('Mc', 'ZZc', 'XYc', 'Cx'),
        correlation=np.eye(4) + 0.1 * (1 - np.eye(4)),
        inflation=np.array([1.1, 1.2, 1.0, 3.0]),
        removed=(),
        unexcited=(),
        findings=(),
        health=(
            health_row(
                'one',
                '/imu/data',
                'sensor_msgs/msg/Imu',
                np.arange(4000, dtype=np.int64) * 10_000_000,
            ),
        ),
        provenance=ORIGIN,
    )


@pytest.fixture(scope='session')
def observation(tmp_path_factory: pytest.TempPathFactory) -> ObservationContent:
    """An observer of one state with an outage of its sensor and two rejected measurements."""
    rng = np.random.default_rng(1)
    time = np.arange(1, 1001) * 0.01
    truth = np.sin(time)
    std = np.full(time.size, 0.02)
    states = [
        StateSeries(
            'x', 'm', time, truth + std * rng.standard_normal(time.size), std, truth, truth + 1.0
        ),
        StateSeries(
            'y', 'm', time, truth + std * rng.standard_normal(time.size), std, truth, truth + 1.0
        ),
        StateSeries('theta', 'rad', time, time, None, time, time + 0.1),
    ]
    seen = time[(time < 4.0) | (time > 6.0)]
    items = [
        Innovation(
            'gps', float(t), rng.standard_normal(2), np.ones(2), float(rng.chisquare(2)), 2, True
        )
        for t in seen
    ]
    items[100] = items[100]._replace(nis=60.0, accepted=False)
    items[101] = items[101]._replace(nis=50.0, accepted=False)
    bag = tmp_path_factory.mktemp('observation') / 'ride'
    with BagWriter(bag) as writer:
        for k, t in enumerate(seen):
            stamp = int(t * 1e9)
            writer.write_message(
                'gps/vel',
                new(
                    'geometry_msgs/msg/TwistStamped',
                    header=header(stamp, 'odom'),
                    twist={'linear': [float(k), 0.0, 0.0]},
                ),
                stamp,
            )
    row = {'max_obs': 0.05, 'max_model': 1.1, 'rms_obs': 0.02, 'rms_model': 1.0}
    metrics: dict[str, Any] = {
        'duration': 10.0,
        'real_time_factor': 5.0,
        'coordinates': {'x': row, 'y': row},
        'sensors': {
            'gps': {
                'used': len(items) - 2,
                'rejected': 2,
                'unavailable': 0,
                'invalid': 0,
                'late': 0,
            }
        },
        'innovation_whiteness': {'gps': [{'white': True}, {'white': False}]},
        'consistency': {
            'nis': {'gps': {'nis': 1.02, 'nis_lower': 0.9, 'nis_upper': 1.1}},
            'nees': {'average': 5.9, 'expected': 6.0},
        },
    }
    run = ObserverRun(
        tuple(states), {'gps': items}, metrics, gate_probability=0.999, path=('x', 'y')
    )
    outcome = observation_outcome(
        run,
        system='vehicle',
        title='Vehicle observer',
        bag=bag,
        findings=(),
        provenance=replace(ORIGIN, command='veh-id observe vehicle'),
        body='',
    )
    assert isinstance(outcome.content, ObservationContent)
    return outcome.content
