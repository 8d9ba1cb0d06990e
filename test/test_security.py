"""What SECURITY.md promises and no other test shows."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path

import pytest

import veh_identification
from veh_identification.errors import VehIdError
from veh_identification.runtime.messages import service_class
from veh_identification.systems.humanoid.robot import load_robot

PACKAGE = Path(veh_identification.__file__).parent
# Not beside the package: in a colcon workspace that is installed elsewhere.
sys.path.insert(0, str(Path(__file__).parents[1] / 'bench'))
from hostile.files import LAUGHS, OUTSIDE  # noqa: E402


def test_no_pickle_anywhere() -> None:
    for path in PACKAGE.rglob('*.py'):
        text = path.read_text('utf-8')
        assert not re.search(r'\b(c?[pP]ickle|marshal|shelve|dill|joblib)\b', text), path
        assert 'allow_pickle=True' not in text and 'yaml.load(' not in text, path
        assert not re.search(r'\byaml\.(unsafe_load|full_load)', text), path


def test_code_is_made_in_known_places_only() -> None:
    made = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob('*.py')
        if re.search(r'(?<![\w.])(exec|eval)\(', path.read_text('utf-8'))
    }
    assert made == {'runtime/cdr/plan.py', 'runtime/cdr/fields.py'}


@pytest.mark.parametrize('content', [LAUGHS, OUTSIDE])
def test_entities_of_descriptions_are_not_followed(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / 'robot.urdf'
    path.write_bytes(content)
    with pytest.raises(VehIdError) as caught:
        load_robot(path)
    assert 'root:' not in str(caught.value) and len(str(caught.value)) < 500


def test_services_take_no_paths() -> None:
    """Whoever calls a service can switch and ask, but name nothing."""
    for name in ('Trigger', 'SetBool'):
        request = service_class(f'std_srvs/srv/{name}').Request()
        texts = [key for key, one in vars(request).items() if isinstance(one, str)]
        assert set(texts) <= {'__msgtype__'}


def test_zenoh_listens_on_the_loopback() -> None:
    pytest.importorskip('zenoh')
    from veh_identification.runtime.zenoh_engine import session

    assert session.open_session.__defaults__ == (('tcp/127.0.0.1:0',),)
    assert session.open_router.__defaults__ == ('tcp/127.0.0.1:7447',)


def test_an_audit_of_nothing_is_not_called_clean(capsys: pytest.CaptureFixture[str]) -> None:
    """A mirror that knows no vulnerability skips all; pip-audit calls that good."""
    place = Path(__file__).parents[1] / 'tools' / 'audit.py'
    if not place.is_file():
        pytest.skip('not in the source tree')
    spec = importlib.util.spec_from_file_location('audit', place)
    assert spec is not None and spec.loader is not None
    audit = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(audit)
    skipped = {'name': 'a', 'skip_reason': 'not found'}
    good, bad = ({'name': 'b', 'version': '1', 'vulns': v} for v in ([], [{'id': 'CVE-1'}]))
    assert audit.told({'dependencies': [skipped]}) == 0
    assert 'nothing was audited' in capsys.readouterr().err
    assert audit.told({'dependencies': [skipped, good]}) == 0
    assert '0 of 1 packages vulnerable, 1 not known' in capsys.readouterr().out
    assert audit.told({'dependencies': [good, bad]}) == 1
    assert 'b 1: CVE-1' in capsys.readouterr().out
