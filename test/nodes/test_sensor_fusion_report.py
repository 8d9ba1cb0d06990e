"""The report of the sensor fusion compares the channels beside a live node, not in its way."""

import threading

import pytest

from veh_identification.findings import Finding
from veh_identification.fusion.core import FusionCore
from veh_identification.fusion.journal import Newest
from veh_identification.fusion.options import FusionOptions
from veh_identification.nodes.sensor_fusion import report as reports
from veh_identification.runtime.load import Load

SECOND = 1_000_000_000
FOUND = Finding('warn', 'scale', 'twice as fast as the others', 'joint_states')


@pytest.mark.parametrize('live', [True, False])
def test_channels_are_compared_beside_a_live_node(
    live: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A comparison takes 0.1 s: in the report it would hold back ten states every five seconds."""
    threads: list[threading.Thread] = []
    goes_on = threading.Event()

    def compare() -> list[Finding]:
        threads.append(threading.current_thread())
        assert not live or goes_on.wait(20.0)
        return [FOUND]

    monkeypatch.setattr(reports, 'channel_checks', lambda core: compare)
    report = reports.FusionReport(FusionCore(FusionOptions()), Load() if live else None)
    for k in range(reports.CHECK_EVERY):
        report.update(k * SECOND, True)
    assert FOUND not in report.findings  # told at the next report, live as in replay
    goes_on.set()
    report.update(reports.CHECK_EVERY * SECOND, True)
    assert FOUND in report.findings
    assert (threads[0] is threading.current_thread()) is not live


def test_newest_samples_are_copied_for_who_works_beside() -> None:
    newest = Newest()
    newest.note('joints', 1.0, (2.0,))
    copied = newest.copied()
    newest.note('joints', 2.0, (3.0,))
    newest.note('mocap', 2.0, (3.0,))
    assert copied.names() == ['joints']
    assert copied.tables()['joints'][1].tolist() == [[2.0]]
