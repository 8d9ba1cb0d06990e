"""TLS, users and passwords of the zenoh engine, as SECURITY.md sets them up."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from pathlib import Path

import pytest

pytest.importorskip('zenoh', reason='eclipse-zenoh is not installed')

from veh_identification.errors import UsageError
from veh_identification.runtime import messages
from veh_identification.runtime.zenoh import ZenohEngine, open_router
from veh_identification.runtime.zenoh_engine.session import OVERRIDE, overrides

pytestmark = pytest.mark.zenoh
STRING = messages.message_class('std_msgs/msg/String')


def test_the_environment_variable_is_read_as_rmw_zenoh_reads_it() -> None:
    text = 'mode="client"; transport/link/tls/enable_mtls=true;'
    assert overrides(text) == {'mode': '"client"', 'transport/link/tls/enable_mtls': 'true'}
    assert overrides('') == {}
    with pytest.raises(UsageError, match="expected key=value between semicolons, got 'mode'"):
        overrides('mode')


@pytest.mark.parametrize('text', ['mode="king"', 'no/such/key=1'])
def test_what_zenoh_refuses_is_one_sentence(monkeypatch, free_endpoint, text) -> None:
    monkeypatch.setenv(OVERRIDE, text)
    with pytest.raises(UsageError, match=f'{OVERRIDE}: zenoh refuses'):
        open_router(free_endpoint)


@pytest.fixture(scope='module')
def keys(tmp_path_factory) -> Path:
    """A certificate authority and a certificate of the router, by openssl."""
    if shutil.which('openssl') is None:
        pytest.skip('openssl is not installed')
    folder = tmp_path_factory.mktemp('keys')

    def openssl(*words: str) -> None:
        subprocess.run(['openssl', *words], cwd=folder, check=True, capture_output=True)

    curve = ('-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes')
    for name in ('ca', 'other_ca'):
        files = ('-keyout', f'{name}.key', '-out', f'{name}.pem')
        openssl('req', '-x509', *curve, *files, '-subj', f'/CN={name}', '-days', '2')
    openssl('req', *curve, '-keyout', 'r.key', '-out', 'r.csr', '-subj', '/CN=localhost')
    (folder / 'names').write_text('subjectAltName=DNS:localhost,IP:127.0.0.1\n', 'ascii')
    signed = ('-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-extfile', 'names')
    openssl('x509', '-req', '-in', 'r.csr', *signed, '-out', 'r.pem', '-days', '2')
    (folder / 'users').write_text('car:secret\n', 'ascii')
    return folder


def setting(**values: object) -> str:
    return ';'.join(f'{key.replace("__", "/")}={json.dumps(one)}' for key, one in values.items())


@pytest.fixture
def router(monkeypatch, keys, free_endpoint):
    """A router that speaks TLS and knows one user."""
    endpoint = free_endpoint.replace('tcp/127.0.0.1', 'tls/localhost')
    told = setting(
        transport__link__tls__listen_private_key=str(keys / 'r.key'),
        transport__link__tls__listen_certificate=str(keys / 'r.pem'),
        transport__auth__usrpwd__user='router',
        transport__auth__usrpwd__password='hidden',
        transport__auth__usrpwd__dictionary_file=str(keys / 'users'),
    )
    monkeypatch.setenv(OVERRIDE, told)
    with open_router(endpoint):
        yield endpoint


def join(monkeypatch, router: str, authority: Path, password: str) -> ZenohEngine:
    told = setting(
        mode='client',
        listen__endpoints=[],
        transport__link__tls__root_ca_certificate=str(authority),
        transport__auth__usrpwd__user='car',
        transport__auth__usrpwd__password=password,
    )
    monkeypatch.setenv(OVERRIDE, told)
    return ZenohEngine(endpoint=router)


def heard(one: ZenohEngine, other: ZenohEngine, seconds: float) -> list[str]:
    """What a listener in one engine hears of a talker in the other."""
    found: list[str] = []
    listener, talker = one.create_node('listener'), other.create_node('talker')
    listener.create_subscription(STRING, 'words', lambda msg: found.append(msg.data), 10)
    publisher = talker.create_publisher(STRING, 'words', 10)
    end = time.monotonic() + seconds
    while time.monotonic() < end and not found:
        publisher.publish(STRING(data='hello'))
        one.spin_once(0.05)
    return found


def test_with_the_right_certificate_and_password(monkeypatch, router, keys) -> None:
    with (
        join(monkeypatch, router, keys / 'ca.pem', 'secret') as one,
        join(monkeypatch, router, keys / 'ca.pem', 'secret') as other,
    ):
        assert heard(one, other, 20.0)[:1] == ['hello']


@pytest.mark.parametrize(
    ('authority', 'password'), [('other_ca.pem', 'secret'), ('ca.pem', 'guessed')]
)
def test_others_hear_nothing(monkeypatch, router, keys, authority, password) -> None:
    with join(monkeypatch, router, keys / 'ca.pem', 'secret') as one:
        try:
            stranger = join(monkeypatch, router, keys / authority, password)
        except Exception as error:  # a client that is not let in
            assert 'zenoh' in str(error)
            return
        with stranger:
            assert heard(stranger, one, 2.0) == []
