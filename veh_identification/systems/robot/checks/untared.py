"""Constant efforts that no friction has: the zero of the sensor is elsewhere."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from veh_identification.findings import Finding
from veh_identification.types import Array

#: Deviations by which a constant effort must be larger than the dry friction.
SURE = 8.0


def untared_findings(
    names: Sequence[str], value: Array, covariance: Array, topic: str
) -> list[Finding]:
    """Joints whose constant effort exceeds their dry friction.

    Friction may differ by direction, but one way it would then push the joint. The zero of the
    effort passes for that difference in every motion, so that its size alone tells it.
    """
    place = {name: k for k, name in enumerate(names)}
    findings = []
    for name, k in place.items():
        joint, _, kind = name.rpartition('.')
        dry = place.get(f'{joint}.fs')
        if kind != 'off' or dry is None:
            continue
        std = float(np.sqrt(max(covariance[k, k], 0.0) + max(covariance[dry, dry], 0.0)))
        size, friction = abs(float(value[k])), abs(float(value[dry]))
        if not size > friction + SURE * std:
            continue
        where = f'{topic}.effort[{joint}]'
        text = (
            f'{where} seems to be {float(value[k]):+.3g} off its zero: {name} is larger than the '
            f'dry friction of the joint ({friction:.3g}), which friction cannot be: tare the '
            'sensor, or look for a spring; other parameters are not affected'
        )
        findings.append(
            Finding('warn', 'effort_offset', text, where, size=size / max(friction, 1e-9))
        )
    return findings
