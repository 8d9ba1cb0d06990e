"""Results of an identification as a later step takes them: those that may be used."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from veh_identification.errors import InputError
from veh_identification.files import read_json


def read_identified(result: str | Path) -> tuple[Path, dict[str, Any]]:
    """parameters.json of a folder, or the file itself; refused where its verdict is no."""
    path = Path(result)
    path = path / 'parameters.json' if path.is_dir() else path
    data = read_json(path)
    if not isinstance(data, dict):
        raise InputError(f'{path}: not a parameters.json of `veh-id identify`')
    verdict = data.get('verdict')
    if isinstance(verdict, dict) and verdict.get('level') == 'no':
        found = verdict.get('findings')
        texts = [one.get('text') for one in found if isinstance(one, dict)] if found else []
        why = str(texts[0] if texts else verdict.get('headline', ''))[:300]
        raise InputError(f'{path}: the verdict of this result is no, nothing uses it: {why}')
    return path, data
