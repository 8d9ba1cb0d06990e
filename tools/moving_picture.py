"""The moving picture of the README, from a real run: docs/images/observer.svg.

Simulates the buggy on its circle, runs the vehicle observer over the recording and draws what came
out: the car, the model without corrections, the observer, and the wheel loads it estimates. An SVG
that animates itself: it needs no library, and a browser shows it at any size.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np

import veh_identification as vid

TARGET = Path(__file__).parents[1] / 'docs' / 'images' / 'observer.svg'
SECONDS, FRAMES = 10.0, 100
GREEN, ORANGE, BLUE, INK, SOFT = '#009e73', '#e69f00', '#0072b2', '#1b1f24', '#57606a'
CORNERS = {'fl': BLUE, 'fr': '#d55e00', 'rl': GREEN, 'rr': '#cc79a7'}
MAP, PLOT = (20, 64, 400, 300), (500, 64, 380, 300)  # left, top, width, height


def values(numbers: np.ndarray) -> str:
    """Key values of an animation."""
    return ';'.join(f'{one:.1f}' for one in numbers)


def animate(attribute: str, numbers: np.ndarray) -> str:
    """An attribute over the run, again and again."""
    return (
        f'<animate attributeName="{attribute}" dur="{SECONDS:g}s" repeatCount="indefinite" '
        f'values="{values(numbers)}"/>'
    )


def trail(x: np.ndarray, y: np.ndarray, colour: str, width: float, dash: str = '') -> str:
    """A line that grows; `dash` as a line of dots instead."""
    points = ' '.join(f'{a:.1f},{b:.1f}' for a, b in zip(x, y, strict=True))
    if dash:
        return (
            f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="{width}" '
            f'stroke-dasharray="{dash}"/>'
        )
    length = np.concatenate([[0.0], np.cumsum(np.hypot(np.diff(x), np.diff(y)))])
    return (
        f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="{width}" '
        f'stroke-dasharray="{length[-1]:.1f}" stroke-dashoffset="0">'
        f'{animate("stroke-dashoffset", length[-1] - length)}</polyline>'
    )


def marker(x: np.ndarray, y: np.ndarray, colour: str, size: float) -> str:
    """A dot that moves."""
    return (
        f'<circle r="{size}" fill="{colour}" cx="{x[-1]:.1f}" cy="{y[-1]:.1f}">'
        f'{animate("cx", x)}{animate("cy", y)}</circle>'
    )


def text(x: float, y: float, words: str, colour: str = INK, size: int = 14) -> str:
    """A line of words."""
    return f'<text x="{x}" y="{y}" fill="{colour}" font-size="{size}">{words}</text>'


def from_above(run: dict[str, np.ndarray]) -> list[str]:
    """Left: the paths of the car, of the model and of the observer, to one scale."""
    left, top, width, height = MAP
    x = np.concatenate([run[f'x_{who}'] for who in ('truth', 'model', 'value')])
    y = np.concatenate([run[f'y_{who}'] for who in ('truth', 'model', 'value')])
    scale = min(width / np.ptp(x), height / np.ptp(y)) * 0.92

    def place(who: str) -> tuple[np.ndarray, np.ndarray]:
        return (
            left + 14 + scale * (run[f'x_{who}'] - x.min()),
            top + height - 10 - scale * (run[f'y_{who}'] - y.min()),
        )

    return [
        trail(*place('model'), ORANGE, 2, dash='3 5'),
        trail(*place('truth'), GREEN, 7),
        trail(*place('value'), BLUE, 2),
        marker(*place('model'), ORANGE, 6),
        marker(*place('truth'), GREEN, 8),
        marker(*place('value'), BLUE, 4),
    ]


def loads(run: dict[str, np.ndarray]) -> list[str]:
    """Right: the wheel loads that no sensor measures."""
    left, top, width, height = PLOT
    found = np.stack([run[f'tyre_fz_{corner}'] for corner in CORNERS])
    low, high = 0.0, 1.1 * float(found.max())
    x = left + np.linspace(0.0, width, found.shape[1])
    parts = [
        f'<path d="M{left},{top} V{top + height} H{left + width}" fill="none" stroke="{SOFT}"/>'
    ]
    for newton in range(0, int(high), 500):
        y = top + height * (1.0 - (newton - low) / (high - low))
        parts.append(text(left - 42, y + 4, f'{newton} N', SOFT, 11))
    parts += [
        text(left + width * second / SECONDS - 6, top + height + 16, f'{second} s', SOFT, 11)
        for second in range(0, int(SECONDS) + 1, 2)
    ]
    for corner, row in zip(CORNERS, found, strict=True):
        y = top + height * (1.0 - (row - low) / (high - low))
        parts.append(trail(x, y, CORNERS[corner], 2))
    names = {'fl': 'front left', 'fr': 'front right', 'rl': 'rear left', 'rr': 'rear right'}
    parts += [
        text(left + 92 * k, top + height + 38, names[corner], CORNERS[corner], 13)
        for k, corner in enumerate(CORNERS)
    ]
    return parts


def picture(run: dict[str, np.ndarray], errors: dict[str, float]) -> str:
    """The whole SVG."""
    words = (
        f'rms error of the place: model alone {errors["model"]:.2g} m, '
        f'observer {errors["observer"]:.2g} m'
    )
    parts = [
        text(20, 26, 'A car, its model alone, and the model kept true by the observer', size=17),
        text(20, 48, words, SOFT, 13),
        text(500, 48, 'wheel loads, estimated: no sensor measures them', SOFT, 13),
        *from_above(run),
        *loads(run),
        text(20, 402, 'car', GREEN, 13),
        text(60, 402, 'model alone', ORANGE, 13),
        text(150, 402, 'observer (GNSS, IMU, wheel angles)', BLUE, 13),
    ]
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 900 416" '
        'font-family="system-ui, sans-serif">\n<title>Vehicle observer</title>\n'
        '<rect width="900" height="416" fill="#ffffff"/>\n' + '\n'.join(parts) + '\n</svg>\n'
    )


def observed(seed: int) -> tuple[dict[str, np.ndarray], dict[str, float]]:
    """A real run at the times of the frames, and its errors."""
    with tempfile.TemporaryDirectory() as folder:
        bag = Path(folder) / 'run'
        vid.simulate('buggy-circle', bag, seed=seed, duration=SECONDS)
        outcome = vid.observe('vehicle', bag, config='buggy')
    time = np.linspace(0.0, SECONDS, FRAMES)
    run = {}
    for name in ('x', 'y'):
        state = outcome[name]
        for who in ('truth', 'model', 'value'):
            series = getattr(state, who)
            good = np.isfinite(series)
            run[f'{name}_{who}'] = np.interp(time, state.time[good], series[good])
    for corner in CORNERS:
        state = outcome[f'tyre_fz_{corner}']
        run[f'tyre_fz_{corner}'] = np.interp(time, state.time, state.value)
    rows = outcome.result.metrics['coordinates']
    return run, {
        'observer': float(np.hypot(rows['x']['rms_obs'], rows['y']['rms_obs'])),
        'model': float(np.hypot(rows['x']['rms_model'], rows['y']['rms_model'])),
    }


if __name__ == '__main__':
    parser = argparse.ArgumentParser(description=__doc__.partition('\n')[0])
    parser.add_argument('--seed', type=int, default=0)
    parser.add_argument('--out', type=Path, default=TARGET)
    chosen = parser.parse_args()
    chosen.out.write_text(picture(*observed(chosen.seed)), 'utf-8')
