"""Installs the package with pip where there is no ROS.

The shared files (messages, configurations, launch files) go to `share/veh_identification`, the
same layout as in a ROS installation, so that one look-up serves both.
"""

from pathlib import Path

from setuptools import find_packages, setup

SHARE = 'share/veh_identification'
HERE = Path(__file__).parent


def files_below(folder: str) -> list[tuple[str, list[str]]]:
    """Pairs of target folder and files for every folder below `folder`."""
    root = HERE / folder
    pairs: dict[str, list[str]] = {}
    for path in sorted(root.rglob('*')):
        if path.is_file() and '__pycache__' not in path.parts:
            relative = path.relative_to(HERE)
            pairs.setdefault(f'{SHARE}/{relative.parent.as_posix()}', []).append(str(relative))
    return list(pairs.items())


setup(
    packages=find_packages(include=['veh_identification', 'veh_identification.*']),
    data_files=[
        (SHARE, ['package.xml']),
        *files_below('msg'),
        *files_below('config'),
        *files_below('launch'),
        *files_below('bench'),
    ],
)
