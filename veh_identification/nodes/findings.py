"""Findings of a running node: logged when they appear and when they go, told in diagnostics."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from veh_identification.findings import Finding, Verdict
from veh_identification.results.messages import DIAGNOSTIC_LEVELS, finding_facts
from veh_identification.runtime.interface import Logger, Node


class FindingLog:
    """Says each finding once when it appears and once when it is gone.

    Numbers in a text change from report to report: code and place make a finding the same.
    """

    def __init__(self, logger: Logger) -> None:
        self._logger = logger
        self._standing: dict[tuple[str, str], Finding] = {}

    def tell(self, findings: Iterable[Finding]) -> None:
        """Compare with what stood before."""
        now = {(one.code, one.where): one for one in findings}
        for key, one in now.items():
            if key not in self._standing:
                log_finding(self._logger, one)
        for key, one in self._standing.items():
            if key not in now:
                self._logger.info(f'no longer: {one.text}')
        self._standing = now


def log_finding(logger: Logger, one: Finding) -> None:
    """One line of source for each severity: rclpy refuses one that logs at two."""
    text = f'{one.code}: {one.told}'
    if one.level == 'bad':
        logger.error(text)
    elif one.level == 'warn':
        logger.warning(text)
    else:
        logger.info(text)


def verdict_facts(verdict: Verdict) -> dict[str, Any]:
    """Entries of the diagnostics: the verdict, its sentence and each finding."""
    return {
        'verdict': verdict.level,
        'headline': verdict.headline,
        **finding_facts(verdict.findings),
    }


def verdict_status(verdict: Verdict) -> tuple[int, str]:
    """Level and text of a diagnostic status."""
    text = '; '.join(one.told for one in verdict.reasons) or verdict.headline
    return DIAGNOSTIC_LEVELS[verdict.level], text


def load_of(node: Node) -> tuple[dict[str, str], list[Finding]]:
    """How a live node keeps up since the last report: entries of the diagnostics, and findings.

    Both are empty under replay, whose output must not depend on the machine.
    """
    load = node.get_load()
    if load is None:
        return {}, []
    report = load.report()
    return report.facts, report.findings
