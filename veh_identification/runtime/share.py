"""Where the shared files of the package are: messages, configurations and launch files."""

from __future__ import annotations

import importlib
import sys
from functools import lru_cache
from importlib import metadata
from pathlib import Path

from veh_identification.errors import InputError

PACKAGE = 'veh_identification'


def _is_share(folder: Path) -> bool:
    return (folder / 'msg' / 'FusedState.msg').is_file()


def _from_source_tree() -> Path | None:
    folder = Path(__file__).resolve().parents[2]
    return folder if _is_share(folder) else None


def _from_ament_index() -> Path | None:
    try:
        packages = importlib.import_module('ament_index_python.packages')
    except ImportError:
        return None
    try:
        folder = Path(packages.get_package_share_directory(PACKAGE))
    except LookupError:  # PackageNotFoundError is a KeyError
        return None
    return folder if _is_share(folder) else None


def _from_pip() -> Path | None:
    """Folder of pip's data_files: recorded with the distribution, else below a known prefix."""
    candidates: list[Path] = []
    try:
        files = metadata.files(PACKAGE) or []
    except metadata.PackageNotFoundError:
        files = []
    candidates += [
        Path(str(file.locate())).resolve().parent for file in files if file.name == 'package.xml'
    ]
    # A virtual environment with access to the system packages sees two prefixes; `pip install
    # --target` puts data_files below the folder that holds the package itself.
    prefixes = [sys.prefix, sys.base_prefix, str(Path(__file__).resolve().parents[2])]
    candidates += [Path(prefix) / 'share' / PACKAGE for prefix in prefixes]
    return next((folder for folder in candidates if _is_share(folder)), None)


@lru_cache(maxsize=1)
def share_directory() -> Path:
    """Folder that holds `msg/`, `config/` and `launch/`.

    The source tree comes first (development, `pip install -e`), then a ROS installation, then
    what pip installed.
    """
    for look_up in (_from_source_tree, _from_ament_index, _from_pip):
        folder = look_up()
        if folder is not None:
            return folder
    raise InputError(
        f'The shared files of {PACKAGE} (msg/, config/, launch/) were found neither beside the '
        f'sources in {Path(__file__).resolve().parents[2]}, nor in the ament index, nor below '
        f'{Path(sys.prefix) / "share" / PACKAGE}: install the package again.'
    )
