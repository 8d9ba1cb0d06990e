"""Whatever happens to a file: plain data or one ConfigurationError with a line for each fault."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest
from yaml_damage import damaged

from veh_identification.configuration.faults import ConfigurationError
from veh_identification.configuration.reading import read

CONFIG = Path(__file__).resolve().parents[2] / 'config'
SEEDS = sorted(CONFIG.glob('*.yaml'))


def is_plain(data: object) -> bool:
    if isinstance(data, dict):
        return all(type(key) is str and is_plain(value) for key, value in data.items())
    if isinstance(data, list):
        return all(is_plain(value) for value in data)
    return data is None or type(data) in (bool, int, float, str)


@pytest.mark.parametrize('with_bases', [False, True])
def test_damaged_files_are_read_or_refused(tmp_path: Path, with_bases: bool) -> None:
    rng = random.Random(13)
    path = tmp_path / 'damaged.yaml'
    counts: Counter[str] = Counter()
    for _ in range(400):
        content = damaged(rng, rng.choice(SEEDS).read_bytes())
        path.write_bytes(content)
        try:
            document = read(path, CONFIG.joinpath if with_bases else None)
        except ConfigurationError as error:
            lines = str(error).splitlines()
            assert lines and len(lines) == min(len(error.faults), 41)
            assert all(line.startswith(str(tmp_path)) and len(line) < 400 for line in lines)
            counts['refused'] += 1
        else:
            assert is_plain(document.data), content
            counts['read'] += 1
    assert counts['refused'] > 100 and counts['read'] > 100, counts
