"""What is promised about installing agrees with itself; pictures with what they are made of."""

from __future__ import annotations

import re
import sys
from importlib.metadata import requires
from pathlib import Path

import pytest

from veh_identification._version import __version__

ROOT = Path(__file__).parents[1]
if not (ROOT / 'pyproject.toml').is_file():  # in a colcon workspace the tests run elsewhere
    pytest.skip('needs the repository', allow_module_level=True)
tomllib = pytest.importorskip('tomllib', reason='needs Python 3.11')
sys.path.insert(0, str(ROOT / 'tools'))
from architecture import TARGET, layers, picture  # noqa: E402
from lowest import lowest  # noqa: E402

PROJECT = tomllib.loads((ROOT / 'pyproject.toml').read_text('utf-8'))['project']


def plain(requirement: str) -> str:
    """The name of a distribution as it is compared."""
    found = re.match(r'[\w.-]+', requirement)
    assert found is not None, requirement
    return found[0].lower().replace('_', '-')


def read(name: str) -> list[str]:
    """Lines of a file of requirements."""
    lines = (ROOT / 'requirements' / name).read_text('utf-8').splitlines()
    return [line for line in lines if line and not line.startswith('#')]


def test_every_dependency_has_a_lowest_version() -> None:
    pinned = lowest(ROOT / 'pyproject.toml', ['zenoh', 'dataframe', 'foxglove'])
    assert 'numpy==1.26.4' in pinned and 'numba==0.59.1' in pinned
    assert len(pinned) == len(PROJECT['dependencies']) + 4
    assert any("; python_version < '3.14'" in one for one in pinned)


def test_a_dependency_without_a_bound_is_refused(tmp_path: Path) -> None:
    file = tmp_path / 'pyproject.toml'
    file.write_text('[project]\ndependencies = ["numpy"]\n')
    with pytest.raises(ValueError, match='numpy'):
        lowest(file, [])


def test_rosdep_and_the_file_for_pip_bring_everything() -> None:
    """Every dependency comes by rosdep (package.xml), by requirements/ros.txt, or with these."""
    needed = {plain(one) for one in PROJECT['dependencies']}
    manifest = (ROOT / 'package.xml').read_text('utf-8')
    rosdep = set(re.findall(r'<exec_depend>python3-([a-z0-9]+)</', manifest))
    if 'yaml' in rosdep:
        rosdep.add('pyyaml')
    by_pip = {plain(one) for one in read('ros.txt')}
    with_others = {'markupsafe'} | {plain(one) for one in requires('rosbags') or []}
    assert 'clarabel' in needed and 'numpy' in rosdep
    assert not needed - by_pip - rosdep - with_others
    assert not by_pip - needed


def test_the_file_for_pip_asks_for_the_promised_versions() -> None:
    asked = {plain(one): one.replace("'", '"') for one in PROJECT['dependencies']}
    for one in read('ros.txt'):
        bounds = re.findall(r'[<>=]+[\d.]+', one.partition(';')[0])
        wanted = re.findall(r'[<>=]+[\d.]+', asked[plain(one)].partition(';')[0])
        assert [b.rstrip('.0') for b in bounds] == [w.rstrip('.0') for w in wanted], one


def test_the_lock_holds_every_dependency() -> None:
    locked = {plain(one) for one in read('newest.txt')}
    assert not {plain(one) for one in PROJECT['dependencies']} - locked
    assert all('==' in one and '@' not in one for one in read('newest.txt'))


def test_one_version_everywhere() -> None:
    manifest = (ROOT / 'package.xml').read_text('utf-8')
    citation = (ROOT / 'CITATION.cff').read_text('utf-8')
    assert f'<version>{__version__}</version>' in manifest
    assert f'\nversion: {__version__}\n' in citation
    assert __version__ in (ROOT / 'CHANGELOG.md').read_text('utf-8')


def test_the_architecture_is_that_of_the_contracts() -> None:
    rows = layers(ROOT / 'pyproject.toml')
    assert rows[0] == ['cli'] and ['multibody', 'signals'] in rows
    assert TARGET.read_text('utf-8') == picture(rows), 'make docs'
