"""Output that is written whole or not at all: a temporary name beside the target, then a rename.

The temporary name starts with a dot and ends in `.partial`, so that nobody takes it for a result
if the machine loses power in between. Whoever writes holds a lock on it; one that nobody holds is
left over from a process that was killed, and the next writer beside it removes it. A target that
is replaced is there at every moment: old and new change names in one step where the system can
(Linux), and everything is on the disk before it gets its name.
"""

from __future__ import annotations

import ctypes
import errno
import os
import re
import shutil
import time
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

from veh_identification.errors import InputError, VehIdError
from veh_identification.files import shortened

try:
    import fcntl
except ImportError:  # not a Unix: leftovers are not told from what is being written
    fcntl = None  # type: ignore[assignment]

PARTIAL = 'partial'
#: Seconds before a temporary name without a lock counts as left over: its owner may be about to
#: take the lock.
GRACE = 60.0
#: Of renameat2(2).
_NO_REPLACE, _EXCHANGE = 1, 2
_AT_FDCWD = -100


class OutputError(InputError):
    """An output file or folder cannot be written."""


def partial_name(target: Path, ending: str = PARTIAL) -> Path:
    """Temporary path beside `target`, on the same file system so that a rename is atomic."""
    return target.with_name(f'.{target.name[:60]}.{uuid.uuid4().hex[:8]}.{ending}')


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
    if target.name in ('', '.', '..') or '\0' in str(target):
        raise error(f'{target} is not a name for an output.')
    try:
        present = target.is_symlink() or target.exists()
        filled = target.is_dir() and any(target.iterdir())
    except (OSError, ValueError) as failure:
        why = reason(failure) if isinstance(failure, OSError) else str(failure)
        raise error(f'{shortened(target)} cannot be written: {why}.') from failure
    if present and not overwrite:
        raise error(f'{target} exists already and is not overwritten.')
    if filled and not any((target / name).exists() for name in replaceable):
        raise error(
            f'{target} is a folder with other content (no {" or ".join(replaceable)} in it) '
            'and is not replaced.'
        )
    try:
        if target.parent.exists() and not target.parent.is_dir():
            raise NotADirectoryError(20, f'{target.parent} is not a folder')
        target.parent.mkdir(parents=True, exist_ok=True)
        for one in leftovers(target.parent):
            remove(one)
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


@contextmanager
def held(partial: Path) -> Iterator[None]:
    """Hold a temporary file or folder, so that nobody takes it for a leftover."""
    number = os.open(partial, os.O_RDONLY | os.O_CLOEXEC)
    try:
        if fcntl is not None:
            with suppress(OSError):  # a file system without locks
                fcntl.flock(number, fcntl.LOCK_SH | fcntl.LOCK_NB)
        yield
    finally:
        os.close(number)


def leftovers(folder: Path, ending: str = PARTIAL) -> list[Path]:
    """Temporary files and folders in a folder whose writers are dead."""
    pattern = re.compile(r'\..+\.[0-9a-f]{8}\.' + ending)
    if fcntl is None:
        return []
    try:
        found = [one for one in folder.iterdir() if pattern.fullmatch(one.name)]
        return [one for one in found if not one.is_symlink() and _is_left(one)]
    except OSError:
        return []


def _is_left(partial: Path) -> bool:
    try:
        if time.time() - partial.stat().st_mtime < GRACE:
            return False
        number = os.open(partial, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(number)
    return True


@lru_cache(maxsize=1)
def _renameat2() -> Any:
    """The system's rename with conditions, None where there is none."""
    try:
        return ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError, TypeError):
        return None


def _rename(partial: Path, target: Path, flag: int) -> bool:
    """Rename under a condition; False where system or file system cannot."""
    call = _renameat2()
    if call is None:
        return False
    paths = os.fsencode(partial), os.fsencode(target)
    if call(_AT_FDCWD, paths[0], _AT_FDCWD, paths[1], flag) == 0:
        return True
    number = ctypes.get_errno()
    if number in (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EPERM):
        return False
    raise OSError(number, os.strerror(number), str(target))


def sync(path: Path) -> None:
    """Bring a file, or a folder with all that it holds, onto the disk."""
    if path.is_dir() and not path.is_symlink():
        for one in path.iterdir():
            sync(one)
    elif not path.is_file():
        return
    _sync_one(path)


def _sync_one(path: Path) -> None:
    number = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(number)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # a file system that has none
            raise
    finally:
        os.close(number)


def publish(partial: Path, target: Path, *, overwrite: bool = False) -> None:
    """Give the finished `partial` its final name; an old target goes only when that worked.

    What was replaced stands at `partial` afterwards, or nothing: the caller removes it.
    """
    sync(partial)
    if not overwrite:
        if target.exists() or target.is_symlink():
            raise FileExistsError(17, 'it appeared while the output was being written')
        if not _rename(partial, target, _NO_REPLACE):
            partial.rename(target)
    elif not target.is_dir() or target.is_symlink():
        partial.replace(target)
    elif not _rename(partial, target, _EXCHANGE):
        _replace_folder(partial, target)
    _sync_one(target.parent)


def _replace_folder(partial: Path, target: Path) -> None:
    """Where names cannot be exchanged: for a moment there is no target."""
    backup = partial_name(target)
    target.rename(backup)
    try:
        partial.replace(target)
    except OSError:
        backup.rename(target)
        raise
    remove(backup)


@contextmanager
def atomic_file(target: Path | str, *, overwrite: bool = True) -> Iterator[Path]:
    """Path to write to; it becomes `target` when the block ends without an exception."""
    target = Path(target)
    prepare_target(target, overwrite=overwrite)
    partial = partial_name(target)
    try:
        partial.touch(exist_ok=False)
        with held(partial):
            yield partial
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
        with held(partial):
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
