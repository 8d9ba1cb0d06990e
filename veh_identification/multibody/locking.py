"""Locking joints and merging rigidly joined bodies into one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from veh_identification.errors import ModelError
from veh_identification.multibody.inertia import transport
from veh_identification.multibody.tree import (
    LOCKED,
    PRISMATIC,
    ROOT,
    Frame,
    TreeModel,
    axis_rotation,
)
from veh_identification.types import Array


def lock_joints(model: TreeModel, positions: Mapping[str, float], merge: bool = True) -> TreeModel:
    """The model with the named coordinates held at the given positions.

    Every joint that follows a locked coordinate is locked (mimic joints too). With `merge` the
    bodies beyond locked joints are merged into their parents.
    """
    for name, value in positions.items():
        if not np.isfinite(value):
            raise ModelError(
                f'model {model.name}: joint "{name}" is locked at {value:g}, '
                'expected a finite position'
            )
    held = {model.coordinate_index(name): float(value) for name, value in positions.items()}
    rotation, translation = model.rotation.copy(), model.translation.copy()
    joint_type, coordinate = model.joint_type.copy(), model.coordinate.copy()
    for body in range(model.bodies):
        index = int(model.coordinate[body])
        if index not in held:
            continue
        position = model.multiplier[body] * held[index] + model.offset[body]
        if joint_type[body] == PRISMATIC:
            translation[body] += rotation[body] @ model.axis[body] * position
        else:
            rotation[body] = rotation[body] @ axis_rotation(model.axis[body], position)
        joint_type[body], coordinate[body] = LOCKED, -1
    kept = [k for k in range(model.dof) if k not in held]
    renumber = np.full(model.dof + 1, -1, dtype=np.int64)
    renumber[kept] = np.arange(len(kept))
    locked = replace(
        model,
        rotation=rotation,
        translation=translation,
        joint_type=joint_type,
        coordinate=renumber[coordinate],
        coordinate_names=tuple(model.coordinate_names[k] for k in kept),
    )
    return merge_locked(locked) if merge else locked


def merge_locked(model: TreeModel) -> TreeModel:
    """The model without locked joints: each locked body becomes part of its parent.

    The parameters of a merged body are transported to its parent's frame and added there; what
    hangs on a fixed root takes no part in the motion and is left out. `frames` keeps where the
    merged bodies' frames are, `merged` says which body carries their parameters now.
    """
    poses: list[Frame] = []
    for body in range(model.bodies):
        is_base = model.floating and body == 0
        if model.joint_type[body] != LOCKED or is_base:
            poses.append(Frame(body, np.eye(3), np.zeros(3)))
        else:
            poses.append(_beyond(poses, model, body, int(model.parent[body])))
    kept = [body for body in range(model.bodies) if poses[body].body == body]
    renumber = {old: new for new, old in enumerate(kept)}
    renumber[ROOT] = ROOT
    parameters, real = model.parameters.copy(), model.real.copy()
    rotation, translation = model.rotation.copy(), model.translation.copy()
    parent = model.parent.copy()
    for body in range(model.bodies):
        holder = poses[body]
        if holder.body != body and holder.body != ROOT:
            parameters[holder.body] += transport(
                model.parameters[body], holder.rotation, holder.translation
            )
            real[holder.body] |= model.real[body]
        elif holder.body == body and parent[body] != ROOT:
            joint = _beyond(poses, model, body, int(parent[body]))
            parent[body] = joint.body
            rotation[body], translation[body] = joint.rotation, joint.translation
    frames = {name: _moved(poses, frame, renumber) for name, frame in model.frames.items()}
    merged = dict(model.merged)
    for body, holder in enumerate(poses):
        if holder.body != body:
            frames[model.body_names[body]] = Frame(
                renumber[holder.body], holder.rotation, holder.translation
            )
            into = 'root' if holder.body == ROOT else model.body_names[holder.body]
            merged[model.body_names[body]] = into
    for name, into in merged.items():
        merged[name] = merged.get(into, into)
    return replace(
        model,
        body_names=tuple(model.body_names[k] for k in kept),
        joint_names=tuple(model.joint_names[k] for k in kept),
        parent=np.array([renumber[int(parent[k])] for k in kept], dtype=np.int64),
        joint_type=model.joint_type[kept],
        rotation=rotation[kept],
        translation=translation[kept],
        axis=model.axis[kept],
        coordinate=model.coordinate[kept],
        multiplier=model.multiplier[kept],
        offset=model.offset[kept],
        real=real[kept],
        parameters=parameters[kept],
        frames=frames,
        merged=merged,
    )


def _beyond(poses: list[Frame], model: TreeModel, body: int, parent: int) -> Frame:
    """The joint frame of `body` seen from the kept body that carries its parent."""
    if parent == ROOT:
        return Frame(ROOT, model.rotation[body], model.translation[body])
    holder = poses[parent]
    return _composed(holder, model.rotation[body], model.translation[body])


def _composed(holder: Frame, rotation: Array, translation: Array) -> Frame:
    return Frame(
        holder.body, holder.rotation @ rotation, holder.rotation @ translation + holder.translation
    )


def _moved(poses: list[Frame], frame: Frame, renumber: Mapping[int, int]) -> Frame:
    """A named frame after the merge."""
    if frame.body == ROOT:
        return frame
    moved = _composed(poses[frame.body], frame.rotation, frame.translation)
    return Frame(renumber[moved.body], moved.rotation, moved.translation)
