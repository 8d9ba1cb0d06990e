"""docs/glossary.md: every parameter and state by its name, from what the systems declare."""

from __future__ import annotations

from veh_identification.systems import registry

HEAD = """# Glossary

Made from the systems themselves (`make docs`). Names are those in `parameters.json`,
`metrics.json`, `~/parameters` and reports. Of `LINK.Jxx` the part behind the point stands here.
Everything is SI; axes are those of REP-103 (x forward, y left, z up).

## Words of every result

| word | meaning |
|---|---|
| sigma | standard deviation, with allowance for noise that filtering has coloured |
| sigma % | sigma in per cent of the value; below 10 counts as well identified |
| a priori | the value that one came with: from the configuration or the URDF |
| base parameters | combinations of inertial parameters that motion and forces can tell apart |
| condition number | of the observation matrix with unit columns; below 100 is comfortable |
| rms_relative | rms of measured minus reconstructed over rms of measured |
| NIS | normalised innovation squared; per degree of freedom 1 is expected |
| NEES | normalised estimation error squared against the truth; as many as states are expected |
| gate | chi-square test that refuses a measurement far from what was expected |
| real_time_factor | seconds of recording per second of processor, compilation apart |
| verdict | yes, with care, or no: what all findings add up to |
"""


def glossary_text() -> str:
    """The document."""
    parts = [HEAD]
    for entry in registry.SYSTEMS:
        words = registry.load(entry).glossary
        if not words:
            continue
        lines = '\n'.join(f'| `{name}` | {meaning} |' for name, meaning in words.items())
        title = f'{entry.name[:1].upper()}{entry.name[1:]}'
        parts.append(
            f'\n## {title}\n\n{entry.summary}\n\n| name | meaning |\n|---|---|\n{lines}\n'
        )
    return ''.join(parts)
