"""How the bench of mistakes judges what a program says."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / 'bench'))
from mistaken.common import NAMED, NOTED, OTHER, SILENT, WITHIN, Mistake, Told, judged

WRONG, RIGHT = {'mass': 50.0}, {'mass': 0.5}
GAIN = Mistake(lambda case: case, ('scale',), noted=('weight',))
GLITCH = Mistake(lambda case: case, ('left_out',), corrected=('left_out',))


@pytest.mark.parametrize(
    ('mistake', 'findings', 'deviations', 'result'),
    [
        (GAIN, [('bad', 'scale', '')], WRONG, NAMED),
        (GAIN, [('note', 'weight', '')], WRONG, NOTED),
        (GAIN, [('note', 'weight', '')], RIGHT, WITHIN),
        (GAIN, [('note', 'scale', '')], WRONG, SILENT),
        (GAIN, [('warn', 'lag', '')], WRONG, OTHER),
        (GAIN, [('warn', 'parameters_weak', '')], WRONG, SILENT),
        (GAIN, [], RIGHT, WITHIN),
        (GLITCH, [('note', 'left_out', '')], RIGHT, NAMED),
        (GLITCH, [('note', 'left_out', '')], WRONG, OTHER),
    ],
)
def test_results(mistake, findings, deviations, result) -> None:
    clean = Told((), '', RIGHT)
    assert judged(mistake, Told(tuple(findings), '', deviations), clean)[0] == result


def test_what_the_clean_recording_says_as_well_names_nothing() -> None:
    finding = ('warn', 'scale', '')
    told = Told((finding,), '', WRONG)
    assert judged(GAIN, told, Told((finding,), '', RIGHT))[0] == SILENT
    forbidden = Told((('bad', 'scale', ''),), '', WRONG)
    assert judged(GAIN, forbidden, Told((finding,), '', RIGHT))[0] == NAMED
