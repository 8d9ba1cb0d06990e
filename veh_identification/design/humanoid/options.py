"""Options of `veh-id design humanoid`: everything has a default, see humanoid_design.yaml."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from veh_identification.errors import UsageError
from veh_identification.systems.humanoid.configuration import ConfigurationError
from veh_identification.types import Array

STAGES = ('both', 'left', 'right')


@dataclass(frozen=True)
class DesignOptions:
    """Lengths in m, zero: from the size of the robot."""

    feet: tuple[str, ...] = ()  # links at the soles: left, right; empty: by their usual names
    sole: tuple[float, ...] = ()  # length and width; empty: from a box of the foot in the URDF
    stages: tuple[str, ...] = STAGES
    zmp_margin: float = 0.0
    clearance: float = 0.0
    base_shift: float = 0.0
    base_turn: float = 0.3  # rad
    position_share: float = 0.9  # of the joints' limits
    velocity_share: float = 0.7
    acceleration: float = 40.0  # rad/s^2 or m/s^2
    fundamental_hz: float = 0.25
    harmonics: int = 5
    samples: int = 80  # per period in the search
    evaluations: int = 300
    periods: int = 2  # of every stage in the trajectory
    transition: float = 2.0  # s to move to another support
    rate_hz: float = 50.0  # of the trajectory written
    row_rate: float = 18.0  # independent rows per second of a recording: three times its cut-off
    force_noise: float = 0.0  # N per row; 0: 0.2 % of the weight
    moment_noise: float = 0.0  # N m per row; 0: that at 50 mm
    locked_joints: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in self.stages:
            if name not in STAGES:
                raise UsageError(f'stages must be some of {", ".join(STAGES)}, found {name!r}')
        if self.sole and len(self.sole) != 2:
            raise UsageError(f'sole needs length and width, found {len(self.sole)} numbers')
        if self.harmonics < 3 or self.samples < 8 * self.harmonics:
            raise UsageError(
                'at least three harmonics and eight samples for each are needed, '
                f'found {self.harmonics} and {self.samples}'
            )
        for name in (
            'base_turn',
            'acceleration',
            'fundamental_hz',
            'evaluations',
            'periods',
            'transition',
            'rate_hz',
            'row_rate',
        ):
            if not getattr(self, name) > 0:
                raise UsageError(f'{name} must be positive, found {getattr(self, name)}')

    def noise(self, mass: float) -> Array:
        """Noise of FX FY FZ NX NY NZ per row."""
        force = self.force_noise or 0.002 * 9.80665 * mass
        return np.array([force] * 3 + [self.moment_noise or 0.05 * force] * 3)


def load_options(path: str | Path | None) -> DesignOptions:
    """From a YAML file, or defaults."""
    if path is None:
        return DesignOptions()
    try:
        content = yaml.safe_load(Path(path).read_text(encoding='utf-8'))
    except OSError as error:
        raise ConfigurationError(f'{path} cannot be read: {error.strerror}') from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigurationError(
            f'{path} is no YAML file: {" ".join(str(error).split())}'
        ) from None
    if isinstance(content, Mapping) and set(content) == {'design'}:
        content = content['design']
    if content is not None and not isinstance(content, Mapping):
        raise ConfigurationError(f'{path}: expected a mapping of names to values')
    known = {f.name for f in fields(DesignOptions)}
    values: dict[str, Any] = {}
    for name, value in (content or {}).items():
        if name not in known:
            raise ConfigurationError(
                f'{path} has the unknown entry {name!r}, expected some of '
                f'{", ".join(sorted(known))}'
            )
        values[name] = _checked(f'{path}: {name}', value, getattr(DesignOptions(), name))
    return DesignOptions(**values)


def _checked(where: str, value: Any, default: Any) -> Any:
    if isinstance(default, tuple):
        return tuple(value or ())
    if isinstance(default, Mapping):
        return dict(value or {})
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ConfigurationError(f'{where} must be a number, found {value!r}')
    return type(default)(value)
