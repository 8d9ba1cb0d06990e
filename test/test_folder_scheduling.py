"""Workers of the test run keep out of each other's folders, and none is left without work."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))
from folder_scheduling import next_file

FILES = [
    'test/docs/test_a.py',
    'test/fusion/test_b.py',
    'test/fusion/test_c.py',
    'test/systems/vehicle/test_d.py',
]


def test_a_worker_stays_in_its_folder() -> None:
    assert next_file(FILES, 'test/fusion', {'test/docs'}) == 'test/fusion/test_b.py'


def test_a_new_one_begins_where_most_is_compiled_and_nobody_is() -> None:
    assert next_file(FILES, '', set()) == 'test/systems/vehicle/test_d.py'
    assert next_file(FILES, '', {'test/systems/vehicle'}) == 'test/fusion/test_b.py'


def test_the_last_folder_is_shared() -> None:
    assert next_file(FILES[1:3], 'test/docs', {'test/fusion'}) == 'test/fusion/test_b.py'
