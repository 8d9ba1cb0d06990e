"""Output that is written whole or not at all: a temporary name beside the target, then a rename.

The temporary name starts with a dot and ends in `.partial`, so that nobody takes it for a result
if the machine loses power in between.
"""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from veh_identification.errors import InputError, VehIdError


class OutputError(InputError):
    """An output file or folder cannot be written."""


def partial_name(target: Path) -> Path:
    """Temporary path beside `target`, on the same file system so that a rename is atomic."""
    return target.with_name(f'.{target.name}.{uuid.uuid4().hex[:8]}.partial')


#: A folder with one of these files is an earlier result of ours, which may be replaced.
RESULT_FILES = ('parameters.json', 'metrics.json')


def refuse_inputs(
    target: Path | str, inputs: Iterable[Path | str], error: type[VehIdError] = OutputError
) -> None:
    """Refuse an output that is one of the inputs or a folder around one."""
    place = Path(target).resolve()
    for one in inputs:
        source = Path(one).resolve()
        if place == source or place in source.parents:
            raise error(f'{target} would replace the input {one}: give another output.')


def prepare_target(
    target: Path,
    *,
    overwrite: bool,
    error: type[VehIdError] = OutputError,
    replaceable: Sequence[str] = RESULT_FILES,
) -> None:
    """Check that `target` may be written and make its parent folder.

    An existing folder is replaced only if it is empty or holds one of `replaceable`,
    which tell that it is an earlier output: nobody loses a folder of something else.
    """
    if target.name in ('', '.', '..'):
        raise error(f'{target} is not a name for an output.')
    if not overwrite and (target.is_symlink() or target.exists()):
        raise error(f'{target} exists already and is not overwritten.')
    filled = target.is_dir() and any(target.iterdir())
    if filled and not any((target / name).exists() for name in replaceable):
        raise error(
            f'{target} is a folder with other content (no {" or ".join(replaceable)} in it) '
            'and is not replaced.'
        )
    try:
        if target.parent.exists() and not target.parent.is_dir():
            raise NotADirectoryError(20, f'{target.parent} is not a folder')
        target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as failure:
        raise error(f'{target} cannot be written: {reason(failure)}.') from failure


def reason(failure: OSError) -> str:
    """Short text of a system error."""
    return failure.strerror or str(failure) or type(failure).__name__


def remove(path: Path) -> None:
    """Remove a file or a folder with its content; nothing happens when it is not there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink()


def publish(partial: Path, target: Path, *, overwrite: bool = False) -> None:
    """Give the finished `partial` its final name; an old target goes only when that worked."""
    backup: Path | None = None
    if overwrite and target.is_dir() and not target.is_symlink():
        # A folder cannot be renamed over a folder that has content.
        backup = partial_name(target)
        target.rename(backup)
    try:
        if not overwrite and target.exists():
            raise FileExistsError(17, 'it appeared while the output was being written')
        partial.replace(target)
    except OSError:
        if backup is not None:
            backup.rename(target)
        raise
    if backup is not None:
        remove(backup)


@contextmanager
def atomic_file(target: Path | str, *, overwrite: bool = True) -> Iterator[Path]:
    """Path to write to; it becomes `target` when the block ends without an exception."""
    target = Path(target)
    prepare_target(target, overwrite=overwrite)
    partial = partial_name(target)
    try:
        yield partial
        with partial.open('rb') as file:
            os.fsync(file.fileno())
        publish(partial, target, overwrite=overwrite)
    except OSError as failure:
        raise OutputError(f'{target} cannot be written: {reason(failure)}.') from failure
    finally:
        remove(partial)


@contextmanager
def atomic_folder(
    target: Path | str, *, overwrite: bool = False, replaceable: Sequence[str] = RESULT_FILES
) -> Iterator[Path]:
    """Empty folder to fill; it becomes `target` when the block ends without an exception."""
    target = Path(target)
    prepare_target(target, overwrite=overwrite, replaceable=replaceable)
    partial = partial_name(target)
    try:
        partial.mkdir()
        yield partial
        publish(partial, target, overwrite=overwrite)
    except OSError as failure:
        raise OutputError(f'{target} cannot be written: {reason(failure)}.') from failure
    finally:
        remove(partial)


def write_text(target: Path | str, text: str, *, overwrite: bool = True) -> None:
    """Write a text file whole or not at all."""
    with atomic_file(target, overwrite=overwrite) as partial:
        partial.write_text(text, encoding='utf-8')
