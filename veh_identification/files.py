"""Files that somebody names: plain files and folders only, and never more than a stated size.

A pipe or a device has no end and would keep the reader waiting for ever; a name that no file can
have (too long, with a NUL) is a sentence like one that is not there.
"""

from __future__ import annotations

import codecs
import json
import os
import stat
from pathlib import Path
from typing import Any, BinaryIO

from veh_identification.errors import InputError

#: No JSON file and no description of a robot that is read here comes near it.
MOST_JSON = MOST_DESCRIPTION = 64 * 2**20
#: Of tables and files of laboratories: days at a thousand rows a second.
MOST_TABLE = 2**30


class FileError(InputError):
    """A file cannot be read; `why` is the sentence without the file's name and full stop."""

    def __init__(self, path: Path | str, why: str) -> None:
        self.why = why
        super().__init__(f'{shortened(path)} {why}.')


def shortened(path: Path | str) -> str:
    """A path as a sentence shows it: as given unless it is longer than anybody reads."""
    text = str(path)
    return text if len(text) <= 300 else f'{text[:120]} ... {text[-60:]}'


def is_folder(path: Path | str) -> bool:
    """True for a folder, False for a plain file, FileError for everything else."""
    try:
        mode = Path(path).stat().st_mode
    except FileNotFoundError:
        raise FileError(path, 'does not exist') from None
    except (OSError, ValueError) as error:
        raise FileError(path, _why(error)) from None
    if not stat.S_ISDIR(mode) and not stat.S_ISREG(mode):
        raise FileError(path, 'cannot be read: it is not a plain file')
    return stat.S_ISDIR(mode)


def open_plain(path: Path | str) -> BinaryIO:
    """A plain file opened for reading; FileError where it is none or cannot be opened."""
    try:
        # Without O_NONBLOCK a pipe would wait for its writer before it can be told from a file.
        number = os.open(path, os.O_RDONLY | os.O_CLOEXEC | getattr(os, 'O_NONBLOCK', 0))
    except (OSError, ValueError) as error:
        raise FileError(path, _why(error)) from None
    mode = os.fstat(number).st_mode
    if not stat.S_ISREG(mode):
        os.close(number)
        what = 'it is a folder' if stat.S_ISDIR(mode) else 'it is not a plain file'
        raise FileError(path, f'cannot be read: {what}')
    return os.fdopen(number, 'rb')


def read_plain(path: Path | str, most: int) -> bytes:
    """The content of a plain file of at most `most` bytes."""
    with open_plain(path) as file:
        try:
            content = file.read(most + 1)
        except OSError as error:
            raise FileError(path, _why(error)) from None
    if len(content) > most:
        raise FileError(path, f'is larger than {most / 2**20:.3g} MiB, the most that is read')
    return content


def read_lines(path: Path | str, most: int = MOST_TABLE) -> list[str]:
    """The lines of a plain text file: UTF-8, or UTF-16 as spreadsheets write it; other bytes are
    replaced.
    """
    content = read_plain(path, most)
    wide = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return content.decode('utf-16' if wide else 'utf-8-sig', 'replace').splitlines()


def read_json(path: Path | str, most: int = MOST_JSON) -> Any:
    """The content of a JSON file; FileError whatever is wrong with it."""
    content = read_plain(path, most)
    try:
        return json.loads(content)
    except RecursionError:
        raise FileError(path, 'is no JSON that can be read: it is nested too deep') from None
    except ValueError as error:
        why = ' '.join(str(error).split())
        raise FileError(path, f'is no JSON that can be read: {why}') from None


def _why(error: OSError | ValueError) -> str:
    text = error.strerror if isinstance(error, OSError) else str(error)
    return f'cannot be read: {text or type(error).__name__}'
