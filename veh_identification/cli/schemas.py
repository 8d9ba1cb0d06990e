"""JSON schemas of all configuration files, for editors (python -m veh_identification.cli.schemas).

They are written to config/schema; a test keeps them up to date.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from pathlib import Path

from veh_identification.atomic import write_text
from veh_identification.configuration.schema import schema_text
from veh_identification.runtime.share import share_directory


@dataclass(frozen=True)
class SchemaFile:
    """A schema: the model it describes, and the name that a file may have around everything."""

    name: str
    place: str  # 'module:class'
    title: str
    wrapper: str = ''

    def text(self) -> str:
        """The content of the file."""
        module, _, name = self.place.partition(':')
        model = getattr(importlib.import_module(f'veh_identification.{module}'), name)
        return schema_text(model, self.title, self.wrapper)


SCHEMAS = (
    SchemaFile('car', 'systems.car.description.model:CarDescription', 'A car', 'car'),
    SchemaFile(
        'humanoid',
        'systems.humanoid.configuration:Configuration',
        'Options of identify humanoid',
        'humanoid',
    ),
    SchemaFile(
        'humanoid_design',
        'design.humanoid.options:DesignOptions',
        'Options of design humanoid',
        'design',
    ),
    SchemaFile('parallel', 'systems.parallel.configuration:Description', 'A parallel robot'),
    SchemaFile(
        'robot', 'systems.robot.configuration:Configuration', 'Options of identify robot', 'robot'
    ),
    SchemaFile('four_bar', 'systems.four_bar.model:Description', 'The four-bar linkage'),
    SchemaFile('mechanism', 'systems.mechanism.configuration:Description', 'A planar mechanism'),
)


def write_schemas(folder: Path) -> list[Path]:
    """Write every schema; returns the files."""
    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / f'{one.name}.schema.json' for one in SCHEMAS]
    for file, one in zip(files, SCHEMAS, strict=True):
        write_text(file, one.text())
    return files


if __name__ == '__main__':
    write_schemas(share_directory() / 'config' / 'schema')
