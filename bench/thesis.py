"""Tables 1 and 3 to 8 of Sinigaglia 2016 beside ours, through the scenarios and the observers.

Table 2 is left out: in print it repeats Table 7, and a crank of 2 m cannot be 18.9 m off. In its
place stand the errors of the four-bar linkage of Table 1 with and without the observer. Tables 7
and 8 are of a real drive in the thesis and of a simulated one here: alike, not the same.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from veh_identification.api import observe, read_columns, simulate

PART = 'thesis'
CORNERS = ('fr', 'fl', 'rr', 'rl')  # wheels 1 to 4 of the thesis
NAMES = (
    *('x', 'y', 'vx', 'vy'),
    *(f'{kind}_{corner}' for kind in ('theta', 'omega') for corner in CORNERS),
    *('yaw', 'yaw_rate'),
)
#: max with observer, max of the model, rms with observer, rms of the model; as printed.
TABLE_5 = """0.0338 30.210 0.0089 13.515  0.0352 1.8367 0.0121 0.7488
0.1547 3.0190 0.0451 1.7441  0.1345 0.2297 0.0386 0.1147
0.0743 107.18 0.0224 47.937  0.1050 107.13 0.0223 47.913
0.0950 116.77 0.0263 52.222  0.1022 116.54 0.0258 52.119
1.1468 10.721 0.3103 6.1894  1.1907 10.716 0.3098 6.1863
1.6514 11.680 0.4266 6.7427  1.6200 11.656 0.4200 6.7293
0.0078 0.0011 0.0048 0.0004  0.0140 0.0004 0.0051 0.0002"""
TABLE_6 = """0.0398 11.752 0.0120 5.4598  0.0374 10.106 0.0133 4.7388
0.1624 4.9196 0.0448 2.2120  0.1356 5.8118 0.0401 2.5558
0.0815 61.736 0.0221 33.238  0.0937 55.434 0.0236 29.868
0.0973 68.934 0.0254 36.929  0.0972 64.253 0.0250 34.196
1.0428 4.1167 0.2858 3.2786  0.9776 3.6802 0.2712 2.9411
2.8088 4.5946 0.4317 3.6657  3.8207 4.2657 0.4018 3.4207
0.0159 0.5889 0.0072 0.3608  0.0143 0.0454 0.0042 0.0316"""
TABLE_7 = """0.1191 18.915 0.0080 3.6509  0.0987 18.151 0.0081 3.4061
0.8319 9.6530 0.0725 1.6717  0.8664 10.348 0.0799 1.6616
0.2840 63.665 0.0814 32.420  0.2561 150.87 0.0621 108.50
0.9354 49.293 0.2061 26.295  0.7815 190.63 0.1827 135.50
nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan
0.2482 1.9863 0.0469 0.5954  0.1212 0.2041 0.0253 0.0663"""
TABLE_8 = """0.4301 18.915 0.0706 3.6509  0.4364 18.151 0.0759 3.4177
1.1579 9.6530 0.1142 1.6717  1.1850 10.348 0.1247 1.6616
0.2814 63.665 0.0780 32.420  0.2671 150.87 0.0632 108.50
0.9863 49.293 0.1922 26.295  0.7102 190.63 0.1930 135.50
nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan
0.2729 1.9863 0.0332 0.5954  0.1177 0.2041 0.0236 0.0663"""
MANOEUVRES = (
    (5, 'buggy-straight', 20.0, 'buggy.yaml', TABLE_5),
    (6, 'buggy-circle', 20.0, 'buggy.yaml', TABLE_6),
    (7, 'buggy-parking', 60.0, 'buggy_parking.yaml', TABLE_7),
    (8, 'buggy-noisy-parking', 60.0, 'buggy_parking.yaml', TABLE_8),
)
#: Lines that take the known start away.
UNKNOWN_START = 'observer: {initial_yaw: null}\n'


def _print(title: str, rows: list[tuple[str, Any, Any]]) -> None:
    print(f'{title}\n  {"":34}{"thesis":>18}{"ours":>18}', flush=True)
    for name, thesis, ours in rows:
        print(f'  {name:34}{thesis!s:>18}{ours!s:>18}', flush=True)


def four_bar(folder: Path) -> list[dict[str, Any]]:
    """Table 1, and what stands in the place of Table 2."""
    bag = folder / 'four_bar'
    truth = simulate('four-bar', bag, seed=1)
    real, model = truth['truth'], truth['model']
    _print(
        'Table 1: four-bar linkage, real mechanism and model',
        [
            ('torque (pulse) [N m]', '-10 (100)', f'{real["torque"]:g} ({truth["pulse"][0]:g})'),
            ('torque of the model [N m]', '-10', f'{model["torque"]:g}'),
            ('angle, rate', '1.0472, 1', f'{real["angle"]:.4f}, {real["rate"]:g}'),
            ('of the model', '1.5708, -10', f'{model["angle"]:.4f}, {model["rate"]:g}'),
            ('gravity', '9.806, 9', f'{real["gravity"]:g}, {model["gravity"]:g}'),
        ],
    )
    found = observe('four-bar', bag).result.metrics['coordinates']
    rows = []
    for name, one in found.items():
        rows.append(_row(f'Table 1: {name}', one['rms_obs'], one['rms_model'], 'model alone'))
    return rows


def _row(case: str, ours: float, peer: float, name: str) -> dict[str, Any]:
    return {
        'case': case,
        'unit': 'rms',
        'ours': ours,
        'peer': peer,
        'peer_name': name,
        'ratio': peer / max(ours, 1e-12),
        'wanted': 'ratio >= 1',
        'met': ours <= peer,
    }


def _sensors(truth: dict[str, Any], thesis_errors: tuple[str, ...]) -> None:
    s = truth['sensors']
    _print(
        'Table 3: sensors, deviation and rate',
        [
            ('accelerometers [m/s^2]', '0.5, 500', _pair(s['imu'], 'accelerometer')),
            ('gyroscopes [rad/s]', '0.0002, 500', _pair(s['imu'], 'gyroscope')),
            ('wheel angles [rad]', '0.17, 500', _pair(s['wheels'], 'deviation')),
            ('position [m]', '0.02, 50', _pair(s['gps'], 'deviation')),
            ('speed [m/s]', '0.1, 50', _pair(s['gps'], 'velocity')),
        ],
    )
    _print('Table 4: friction error, time, torque, rack', [('circle', *thesis_errors)])


def _pair(sensor: dict[str, Any], name: str) -> str:
    return f'{sensor[name]:g}, {sensor["rate"]:g}'


def _inputs(bag: Path, truth: dict[str, Any], seconds: float) -> str:
    """Friction error, time, torque and rack travel as the bag holds them."""
    rows = read_columns(bag, {'joint_states': ['position[steering_rack]', 'effort[wheel_rl]']})[
        'joint_states'
    ]
    error = truth['true_tyre']['rolling_resistance'] - truth['model_tyre']['rolling_resistance']
    rack = float(np.mean(rows['position[steering_rack]'][-100:]))
    return f'{error:g}, {seconds:g}, {np.mean(rows["effort[wheel_rl]"][-100:]):.0f}, {rack:.3f}'


def compare(
    number: int, bag: Path, config: Path | str, printed: str, start: str
) -> list[dict[str, Any]]:
    """One of Tables 5 to 8: all four columns on the terminal, the rms as rows."""
    thesis = np.array(printed.split(), dtype=float).reshape(-1, 4)
    found = observe('vehicle', bag, config=config).result.metrics.get('coordinates', {})
    print(f'Table {number} ({start}): max observer, max model, rms observer, rms model')
    rows = []
    for name, theirs in zip(NAMES, thesis, strict=True):
        one = found.get(name, {})
        ours = [one.get(k, np.nan) for k in ('max_obs', 'max_model', 'rms_obs', 'rms_model')]
        cells = [f'{t:10.4g} {o:10.4g} |' for t, o in zip(theirs, ours, strict=True)]
        print(f'  {name:10}' + ' '.join(cells), flush=True)
        if np.isfinite(theirs[2]):
            case = f'Table {number}, {start}: {name}'
            rows.append(_row(case, float(ours[2]), float(theirs[2]), 'thesis'))
    return rows


def measure(quick: bool) -> list[dict[str, Any]]:
    """All tables; quick ones end after ten seconds and leave the unknown start out."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = four_bar(folder)
        for number, scenario, seconds, config, printed in MANOEUVRES:
            bag, length = folder / scenario, min(seconds, 10.0) if quick else seconds
            truth = simulate(scenario, bag, duration=length, seed=1)
            if number == 6:
                _sensors(truth, ('0.015, 20, 100, 0.010', _inputs(bag, truth, length)))
            rows += compare(number, bag, config, printed, 'known start')
            if not quick:
                free = folder / f'free_{config}'
                free.write_text(f'base: {config}\n{UNKNOWN_START}', 'utf-8')
                rows += compare(number, bag, free, printed, 'unknown start')
    return rows
