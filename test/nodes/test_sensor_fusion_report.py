"""The report of the sensor fusion compares the channels beside a live node, not in its way."""

import threading
import time

import numpy as np
import pytest

from veh_identification.findings import Finding
from veh_identification.fusion.core import FusionCore
from veh_identification.fusion.journal import MEMORY, NEWEST, SPACING, Journal, Newest
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
    if live:  # no sample waits for it
        report.update(reports.CHECK_EVERY * SECOND, True)
        assert FOUND not in report.findings
    goes_on.set()
    for k in range(200):
        report.update((reports.CHECK_EVERY + k) * SECOND, True)
        if FOUND in report.findings or not live:
            break
        time.sleep(0.1)
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


def test_a_journal_keeps_a_minute_of_thinned_samples() -> None:
    journal = Journal()
    for k in range(20_000):
        journal.note('imu', 0.01 * k, (float(k), 1.0, 2.0))
    found = journal.copied().of('imu')
    assert found is not None
    times, values = found
    assert times[-1] - times[0] == pytest.approx(MEMORY, abs=SPACING) and len(times) == 1201
    np.testing.assert_array_equal(values[:, 0], np.round(100.0 * times))
    journal.note('imu', 200.0, (7.0,))  # a sensor that tells less from now on
    assert journal.of('imu')[1].shape[1] == 1 and journal.of('imu')[1][-1, 0] == 7.0  # type: ignore[index]
    assert found[1].shape[1] == 3 and journal.of('gnss') is None


def test_the_newest_samples_are_so_many() -> None:
    newest = Newest()
    for k in range(3 * NEWEST):
        newest.note('imu', float(k), (2.0 * k,))
    times, values = newest.tables()['imu']
    np.testing.assert_array_equal(times, np.arange(2 * NEWEST, 3 * NEWEST))
    np.testing.assert_array_equal(values[:, 0], 2.0 * times)
