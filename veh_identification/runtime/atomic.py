"""The helpers of `veh_identification.atomic`, under the name that the layers below know."""

from __future__ import annotations

from veh_identification.atomic import (
    RESULT_FILES,
    OutputError,
    atomic_file,
    atomic_folder,
    partial_name,
    prepare_target,
    publish,
    reason,
    refuse_inputs,
    remove,
    write_text,
)

__all__ = [
    'RESULT_FILES',
    'OutputError',
    'atomic_file',
    'atomic_folder',
    'partial_name',
    'prepare_target',
    'publish',
    'reason',
    'refuse_inputs',
    'remove',
    'write_text',
]
