"""Messages of the nodes as plain data: texts cut, lists bounded, numbers as they are."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from veh_identification.findings import Finding
from veh_identification.findings.numbers import unit as raised
from veh_identification.runtime.messages import byte_value

#: Characters of a name or an entry, and of a sentence, that are kept.
TEXT, SENTENCE = 300, 2000
#: Findings of a node and parameters of an estimate.
FINDINGS, PARAMETERS = 40, 512
#: Facts of a diagnostic status, sensors of a node.
FACTS, SENSORS = 200, 128
#: Of a point in the plane inside the ellipse, which is that of 95 %.
ELLIPSE_95 = math.sqrt(-2.0 * math.log(0.05))
#: Of a verdict.
LEVELS = {'yes': 'good', 'care': 'warn', 'no': 'bad'}
COUNTS = ('received', 'accepted', 'rejected', 'late', 'duplicate', 'invalid', 'waiting')


def told(message: Any) -> str:
    """`Finding.told` of a message."""
    return Finding(message.level, message.code, message.text, evidence=message.evidence).told


def cut(text: Any, most: int = TEXT) -> str:
    """A text of bounded length."""
    text = str(text)
    return text if len(text) <= most else text[: most - 3] + '...'


def number(text: str | None) -> float:
    """Of an entry of the diagnostics; NaN for what is none."""
    try:
        return float(text) if text is not None else float('nan')
    except ValueError:
        return float('nan')


def estimate_of(message: Any) -> dict[str, Any]:
    """Of veh_identification/msg/ParameterEstimates."""
    return {
        'system': cut(message.system),
        'estimator': cut(message.estimator),
        'condition': float(message.condition_number),
        'samples': int(message.sample_count),
        'rejected': int(message.rejected_count),
        'converged': bool(message.converged),
        'advice': cut(message.advice, SENTENCE),
        'verdict': cut(message.verdict),
        'headline': cut(message.headline, SENTENCE),
        'findings': [
            {'level': cut(one.level), 'code': cut(one.code), 'text': cut(told(one), SENTENCE)}
            for one in message.findings[:FINDINGS]
        ],
        'left_out': max(0, len(message.parameters) - PARAMETERS),
        'parameters': [
            {
                'name': cut(one.name),
                'unit': raised(cut(one.unit)),
                'value': float(one.value),
                'std': float(one.std),
                'relative': float(one.rel_std_percent),
                'well': bool(one.well_identified),
                'excited': bool(one.excited),
                'a_priori': float(one.a_priori),
            }
            for one in message.parameters[:PARAMETERS]
        ],
    }


def status_of(message: Any) -> dict[str, Any]:
    """Of veh_identification/msg/ObserverStatus."""
    return {
        'mode': cut(message.mode),
        'messages': [cut(text, SENTENCE) for text in message.messages[:FINDINGS]],
        'sensors': {
            cut(one.name): {
                'topic': cut(one.topic),
                'active': bool(one.active),
                'rate': float(one.rate),
                'nis': float(one.nis_mean),
                **{key: int(getattr(one, key)) for key in COUNTS},
            }
            for one in message.sensors[:SENSORS]
        },
    }


def diagnosis_of(status: Any) -> dict[str, Any]:
    """Of diagnostic_msgs/msg/DiagnosticStatus."""
    return {
        'level': byte_value(status.level),
        'text': cut(status.message, SENTENCE),
        'facts': {
            cut(one.key): cut(one.value, SENTENCE if one.key.startswith('finding') else TEXT)
            for one in status.values[:FACTS]
        },
    }


def pose_of(message: Any) -> dict[str, Any]:
    """Of nav_msgs/msg/Odometry: place, heading, ellipse of 95 %, speed."""
    pose, twist = message.pose.pose, message.twist.twist
    q = pose.orientation
    covariance = np.asarray(message.pose.covariance, dtype=float).reshape(6, 6)
    return {
        'frame': cut(message.header.frame_id),
        'child': cut(message.child_frame_id),
        'x': float(pose.position.x),
        'y': float(pose.position.y),
        'yaw': math.atan2(2.0 * (q.w * q.z + q.x * q.y), 1.0 - 2.0 * (q.y * q.y + q.z * q.z)),
        'yaw_std': _root(covariance[5, 5]),
        'speed': math.hypot(twist.linear.x, twist.linear.y),
        'ellipse': ellipse_of(covariance[:2, :2]),
    }


def ellipse_of(covariance: np.ndarray) -> dict[str, float] | None:
    """Half axes [m] and direction of the long one; None for no covariance of a point."""
    if not np.all(np.isfinite(covariance)):
        return None
    values, vectors = np.linalg.eigh(0.5 * (covariance + covariance.T))
    if values[0] < -1e-9 * abs(values[1]) or values[1] <= 0.0:
        return None
    long, short = np.sqrt(np.maximum(values[::-1], 0.0)) * ELLIPSE_95
    return {
        'long': float(long),
        'short': float(short),
        'angle': float(np.arctan2(vectors[1, 1], vectors[0, 1])),
    }


def sides_of(message: Any) -> dict[str, Any]:
    """Of veh_identification/msg/Reconstruction."""
    return {
        'equations': [cut(name) for name in message.equations[:SENSORS]],
        'units': [raised(cut(unit)) for unit in message.units[:SENSORS]],
        'measured': [float(value) for value in message.measured[:SENSORS]],
        'predicted': [float(value) for value in message.predicted[:SENSORS]],
    }


def _root(variance: float) -> float:
    return math.sqrt(variance) if variance > 0.0 else float('nan')
