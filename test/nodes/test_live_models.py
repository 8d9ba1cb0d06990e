"""What every live model must do, checked over the registry of systems."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from veh_identification.errors import VehIdError
from veh_identification.findings import Finding, verdict_of
from veh_identification.nodes.findings import FindingLog, verdict_facts, verdict_status
from veh_identification.runtime.graph import find_config
from veh_identification.simulation.humanoid.scenarios import robot_path
from veh_identification.systems import registry
from veh_identification.systems.driver import configured
from veh_identification.systems.live import LiveModel

SYSTEMS = [pytest.param(one, id=one.name) for one in registry.entries('identify')]


@pytest.fixture(params=SYSTEMS)
def model(request: pytest.FixtureRequest) -> LiveModel:
    name = request.param.name
    described = {'humanoid': robot_path(cad=True), 'robot': find_config('models/arm_6_axis.urdf')}
    options = {'urdf': described[name]} if name in described else {}
    system, config = configured(name, None, options)
    made: LiveModel = system.live(config)
    return made


def test_a_model_without_data_says_so_and_keeps_nothing(model: LiveModel, tmp_path: Path) -> None:
    assert isinstance(model, LiveModel)
    assert model.solution is None and model.samples == model.rejected == 0
    assert 'no_estimate' in {one.code for one in model.findings()}
    assert model.advice() == '' and model.impossible == [] and model.take_sides() == []
    assert not model.finish() and not model.convergence.reached
    assert model.reset()
    for work in (model.save, model.load):
        with pytest.raises(VehIdError):
            work(str(tmp_path / 'nothing'))


class Lines:
    """A logger that keeps what it is told."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, str]] = []

    def __getattr__(self, level: str) -> Any:
        return lambda text, **options: self.lines.append((level, text))


def test_findings_are_logged_when_they_come_and_when_they_go() -> None:
    logger = Lines()
    log = FindingLog(logger)  # type: ignore[arg-type]
    bad = Finding('bad', 'swapped', 'two are swapped')
    for number in (1, 2):
        log.tell([bad, Finding('warn', 'few', f'only {number}')])
    log.tell([Finding('note', 'known', 'worth knowing')])
    assert logger.lines == [
        ('error', 'swapped: two are swapped'),
        ('warning', 'few: only 1'),
        ('info', 'known: worth knowing'),
        ('info', 'no longer: two are swapped'),
        ('info', 'no longer: only 2'),
    ]


def test_the_verdict_makes_the_diagnostics() -> None:
    twice = [Finding('warn', 'few', 'here'), Finding('warn', 'few', 'there')]
    verdict = verdict_of([*twice, Finding('bad', 'swapped', 'two are swapped')])
    assert verdict_status(verdict) == (2, 'two are swapped; here; there')
    facts = verdict_facts(verdict)
    assert facts['verdict'] == 'no' and facts['finding: swapped'] == 'two are swapped'
    assert (facts['finding: few'], facts['finding: few (2)']) == ('here', 'there')
    assert verdict_status(verdict_of([])) == (0, verdict_of([]).headline)
    assert verdict_status(verdict_of(twice))[0] == 1
