"""From the files of a laboratory (.osim, .mot, .sto) to a recording with its URDF beside it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from veh_identification.atomic import refuse_inputs
from veh_identification.errors import UsageError
from veh_identification.systems.humanoid.laboratory.bags import has_forces, write_recording
from veh_identification.systems.humanoid.laboratory.skeleton import read_skeleton
from veh_identification.systems.humanoid.laboratory.storage import read_table

MODEL, TABLES = '.osim', ('.mot', '.sto')
#: The tree, inside the folder of the recording: `identify humanoid` finds it there.
URDF = 'model.urdf'


def is_laboratory(paths: Sequence[str | Path]) -> bool:
    """Whether these are files of a laboratory and no bags."""
    return any(Path(one).suffix.lower() in (MODEL, *TABLES) for one in paths)


def convert_laboratory(
    paths: Sequence[str | Path], out: str | Path, *, storage: str = 'mcap', overwrite: bool = False
) -> dict[str, int]:
    """Write the recording; returns how many messages each topic has."""
    models = [one for one in paths if Path(one).suffix.lower() == MODEL]
    tables = [read_table(one) for one in paths if Path(one).suffix.lower() in TABLES]
    forces = [one for one in tables if has_forces(one)]
    motions = [one for one in tables if not has_forces(one)]
    if (len(models), len(motions), len(forces)) != (1, 1, 1) or len(paths) != 3:
        raise UsageError(
            'convert takes one model (.osim), one table of its coordinates and one of the ground '
            f'forces (.mot or .sto) together; found {len(models)}, {len(motions)} and '
            f'{len(forces)} among {len(paths)} files'
        )
    refuse_inputs(out, [Path(one) for one in paths])
    skeleton = read_skeleton(models[0])
    written = write_recording(
        out, skeleton, motions[0], forces[0], storage=storage, overwrite=overwrite
    )
    (Path(out) / URDF).write_bytes(skeleton.urdf)
    return written
