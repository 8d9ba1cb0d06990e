"""Colours: Okabe and Ito's palette, which colour-blind readers can tell apart, by their role.

Figures are made once and shown on light or dark paper. They name roles by stand-in colours that
occur nowhere else; the page replaces each by the colour of its theme.
"""

from __future__ import annotations

BLUE, SKY, GREEN, ORANGE = '#0072b2', '#56b4e9', '#009e73', '#e69f00'
VERMILLION, PURPLE, YELLOW = '#d55e00', '#cc79a7', '#f0e442'

INK = '#010101'
PAPER = '#010102'
GRID = '#010103'
MUTED = '#010104'
MEASURED = '#010105'
PREDICTED = '#010106'
ERROR = '#010107'
A_PRIORI = '#010108'
TRUTH = '#010109'
THIRD = '#01010a'
BAND = 'rgba(1,1,11,0.5)'
OUTAGE = 'rgba(1,1,12,0.5)'
MIDDLE = '#01010b'

#: Lines of one figure that have no other role; where there are more, dashes go on.
LINES = (PREDICTED, ERROR, TRUTH, THIRD, A_PRIORI, MEASURED, MUTED)
DASHES = ('solid', 'dash', 'dot', 'dashdot')

THEMES: dict[str, dict[str, str]] = {
    'light': {
        INK: '#1b1f24',
        PAPER: '#ffffff',
        GRID: '#dde1e6',
        MUTED: '#8a929b',
        MEASURED: '#30363d',
        PREDICTED: BLUE,
        ERROR: VERMILLION,
        A_PRIORI: ORANGE,
        TRUTH: GREEN,
        THIRD: PURPLE,
        BAND: 'rgba(86,180,233,0.35)',
        OUTAGE: 'rgba(230,159,0,0.18)',
        MIDDLE: '#f4f5f7',
    },
    'dark': {
        INK: '#e6e8eb',
        PAPER: '#1c2128',
        GRID: '#373e47',
        MUTED: '#8b949e',
        MEASURED: '#d7dade',
        PREDICTED: SKY,
        ERROR: '#ff8a3d',
        A_PRIORI: ORANGE,
        TRUTH: '#2fc79a',
        THIRD: '#e49cc3',
        BAND: 'rgba(86,180,233,0.30)',
        OUTAGE: 'rgba(230,159,0,0.22)',
        MIDDLE: '#262c34',
    },
}


def line_style(index: int) -> dict[str, object]:
    """Colour and dash of the index-th line of a figure."""
    round_, place = divmod(index, len(LINES))
    return {'color': LINES[place], 'dash': DASHES[round_ % len(DASHES)], 'width': 1.4}
