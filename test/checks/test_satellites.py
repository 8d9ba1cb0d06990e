"""What fixes say of their own noise."""

import numpy as np
import pytest

from veh_identification.checks.channels import Channels
from veh_identification.checks.satellites import check_scatter

TIME = np.arange(0.0, 30.0, 0.1)


def fixes(noise: float, stated: float, jump: float = 0.0) -> Channels:
    """A car in bends of 5 m/s^2, brisk steering included."""
    rng = np.random.default_rng(8)
    heading = 1.5 * np.sin(0.5 * TIME)
    path = np.cumsum(12.0 * np.exp(1j * heading)) * 0.1 + np.where(TIME > 15.0, jump, 0.0)
    east, north = path.real, path.imag
    values = np.column_stack([east, north, np.zeros(len(TIME)), np.full(len(TIME), stated)])
    values[:, :2] += noise * rng.standard_normal((len(TIME), 2))
    return Channels({'gnss': (TIME, values)})


@pytest.mark.parametrize('noise', [0.3, 3.0])
def test_fixes_that_scatter_more_than_they_state_are_told_with_both_sizes(noise):
    (found,) = check_scatter(fixes(noise, 0.02), 'gps/fix')
    assert (found.level, found.code, found.where) == ('warn', 'noisier_than_stated', 'gps/fix')
    shown = float(found.text.split('scatter by ')[1].split(' m')[0])
    assert shown == pytest.approx(noise, rel=0.2)
    assert '0.02 m' in found.text


def test_motion_jumps_and_modest_statements_are_no_scatter():
    assert check_scatter(fixes(0.02, 0.02), 'gps/fix') == []
    assert check_scatter(fixes(0.0, 0.002), 'gps/fix') == []
    assert check_scatter(fixes(0.05, 0.02, jump=20.0), 'gps/fix') == []
    assert check_scatter(fixes(1.0, 2.0), 'gps/fix') == []
