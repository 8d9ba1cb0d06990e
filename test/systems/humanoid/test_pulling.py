"""Plates that pull: of the wrong sign, or set to zero under a foot."""

from __future__ import annotations

from dataclasses import make_dataclass
from types import SimpleNamespace

import numpy as np
import pytest

from veh_identification.systems.humanoid.checks.hypotheses import lags
from veh_identification.systems.humanoid.checks.pulling import pull_findings, tare_findings

WEIGHT, RATE = 600.0, 100.0
TIME = np.arange(0.0, 10.0, 1.0 / RATE)
#: Share of the weight on the left foot, which is in the air for a part of each step.
LEFT = np.clip(0.5 + 0.9 * np.sin(2.0 * np.pi * TIME), 0.0, 1.0)


def walking(offsets=(0.0, 0.0), signs=(1.0, 1.0)):
    """Two plates, one under each foot."""
    wrenches = np.zeros((len(TIME), 2, 6))
    for k, share in enumerate((LEFT, 1.0 - LEFT)):
        wrenches[:, k, 2] = signs[k] * WEIGHT * share + offsets[k]
    sources = [
        SimpleNamespace(
            topic=f'plate_{k}', is_plate=True, pose=SimpleNamespace(rotation=np.eye(3))
        )
        for k in range(2)
    ]
    raw = SimpleNamespace(
        stamps=TIME,
        rate=RATE,
        wrenches=wrenches,
        sources=sources,
        valid=np.ones(len(TIME), dtype=bool),
    )
    return SimpleNamespace(measured=raw, weight=WEIGHT)


@pytest.mark.parametrize('offsets', [(-300.0, 0.0), (-300.0, -300.0)])
def test_a_plate_set_to_zero_under_a_foot_is_told_from_a_wrong_sign(offsets):
    (found,) = tare_findings(walking(offsets), 'bag')
    assert (found.level, found.code) == ('bad', 'tared_under_load')
    assert ('plate_1' in found.text) == (offsets[1] != 0.0)


def test_right_plates_and_those_of_the_wrong_sign_were_not_set_to_zero_under_load():
    assert tare_findings(walking(), 'bag') == pull_findings(walking(), 'bag') == []
    turned = walking(signs=(-1.0, 1.0))
    assert tare_findings(turned, 'bag') == []
    assert [one.code for one in pull_findings(turned, 'bag')] == ['opposite_sign']


def test_one_plate_alone_is_tried_to_be_late():
    raw = walking().measured
    (one,) = [
        one for one in lags(raw) if 'plate_1 seems to be about 100 ms late against' in one.text
    ]
    step = np.arange(len(TIME))
    raw.wrenches[:, :, 0] = step[:, None]
    made = one.change(_replaceable(raw))
    assert (made.wrenches[:-10, 1, 0] == step[10:]).all() and not made.valid[-10:].any()
    assert (made.wrenches[:, 0, 0] == step).all()


def _replaceable(raw):
    """As `dataclasses.replace` takes it."""
    names = list(vars(raw))
    return make_dataclass('Raw', names)(**vars(raw))
