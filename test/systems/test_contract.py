"""What every system of the registry must do, checked over the whole registry."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from veh_identification.cli.main import main
from veh_identification.errors import InputError, UsageError
from veh_identification.findings import Verdict
from veh_identification.runtime.bags import BagReader, BagWriter
from veh_identification.runtime.graph import GRAPHS
from veh_identification.runtime.share import share_directory
from veh_identification.simulation.scenarios import find_scenario, simulate
from veh_identification.systems import registry
from veh_identification.systems.driver import configured, run
from veh_identification.systems.options import option_fields

MODELS = share_directory() / 'config' / 'models'
#: A short recording of each system, and what its command needs beside it.
CASES: dict[str, tuple[str, float, dict[str, Any], str | None]] = {
    'car': ('car-sine-steer', 12.0, {}, 'car_peugeot_406'),
    'humanoid': ('humanoid-walk', 4.0, {'urdf': MODELS / 'ut_mu2_like_cad.urdf'}, None),
    'parallel': ('hexapod-periodic', 10.0, {}, None),
    'robot': ('arm-free', 12.0, {'urdf': MODELS / 'arm_6_axis.urdf'}, None),
    'vehicle': ('buggy-circle', 3.0, {}, None),
    'four-bar': ('four-bar', 2.0, {}, None),
    'mechanism': ('mechanism', 1.5, {}, 'mechanism_slider_crank'),
}
ENTRIES = [pytest.param(one, id=one.name) for one in registry.SYSTEMS]
VERBS = [
    pytest.param(one, verb, id=f'{verb}-{one.name}')
    for one in registry.SYSTEMS
    for verb in one.verbs
]


@pytest.fixture(scope='module')
def recordings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp('contract')
    made = {}
    for name, (scenario, seconds, _, config) in CASES.items():
        machine = config if find_scenario(scenario).takes_config else None
        simulate(scenario, folder / name, duration=seconds, seed=3, config=machine)
        made[name] = folder / name
    return made


@pytest.mark.parametrize('entry', ENTRIES)
def test_the_line_of_the_registry_is_true(entry: registry.Entry) -> None:
    system = registry.load(entry)
    assert (system.name, system.aliases) == (entry.name, entry.aliases)
    assert set(system.verbs) == set(entry.verbs)
    assert system.summary and system.title and system.glossary
    nodes = {node.name for graph in GRAPHS.values() for node in graph.nodes}
    assert not system.node or system.node in nodes
    assert entry.name in CASES, 'a new system needs a recording here'


@pytest.mark.parametrize(('entry', 'verb'), VERBS)
def test_options_explain_themselves(
    entry: registry.Entry, verb: str, capsys: pytest.CaptureFixture[str]
) -> None:
    system = registry.load(entry)
    own = [one.name for one in option_fields(system.verbs[verb])]
    assert all(one.help for one in option_fields(system.verbs[verb]))
    with pytest.raises(SystemExit) as end:
        main([verb, entry.name, '--help'])
    assert end.value.code == 0
    text = capsys.readouterr().out
    for name in own:
        assert f'--{name.replace("_", "-")}' in text
    for other in registry.entries(verb):
        if other.name != entry.name:
            foreign = {one.name for one in option_fields(registry.load(other).verbs[verb])}
            for name in foreign - set(own):
                assert f'--{name.replace("_", "-")} ' not in text, f'an option of {other.name}'


@pytest.mark.parametrize(('entry', 'verb'), VERBS)
def test_wrong_options_and_missing_recordings_are_refused(
    entry: registry.Entry, verb: str
) -> None:
    options = {} if verb == 'observe' else dict(CASES[entry.name][2])
    with pytest.raises(UsageError, match='needs at least one recording'):
        run(verb, entry.name, [], options=options)
    with pytest.raises(UsageError, match='has no option'):
        run(verb, entry.name, ['run'], options={**options, 'no_such_option': 1})


@pytest.mark.parametrize(('entry', 'verb'), VERBS)
def test_outcome_is_whole(
    entry: registry.Entry, verb: str, recordings: dict[str, Path], tmp_path: Path
) -> None:
    _, _, options, config = CASES[entry.name]
    bag, out = recordings[entry.name], tmp_path / 'out'
    outcome = run(verb, entry.name, [bag], out=out, config=config, options=options)
    assert (outcome.verb, outcome.system) == (verb, entry.name)
    assert isinstance(outcome.verdict, Verdict)
    lines = outcome.text.splitlines()
    assert lines[0] == lines[-1] == outcome.verdict.line
    assert f'report: {out / "report.html"}' in lines
    assert all(one.code and one.text for one in outcome.findings)
    assert len({one.code for one in outcome.findings if one.level == 'bad'}) == 0
    name = 'metrics.json' if verb == 'observe' else 'parameters.json'
    document = json.loads((out / name).read_text())
    assert document['system'] == entry.name
    assert document['verdict'] == outcome.verdict.as_dict()
    assert document['provenance']['inputs'], 'where did geometry and poses come from?'
    assert {'what', 'value', 'from'} == set(document['provenance']['inputs'][0])
    assert len(outcome) > 0 and next(iter(outcome)) in outcome
    with BagReader(out / ('observed' if verb == 'observe' else 'result')) as reader:
        assert any(topic.count for topic in reader.topics.values())
    assert len(outcome.plot().data) > 0


@pytest.mark.parametrize(('entry', 'verb'), VERBS)
def test_a_recording_that_was_read_serves_as_well_as_its_path(
    entry: registry.Entry, verb: str, recordings: dict[str, Path]
) -> None:
    _, _, options, config = CASES[entry.name]
    bag = recordings[entry.name]
    system, description = configured(entry.name, config, options)
    known = system.read(bag, description)
    assert all(one.level != 'bad' for one in system.checks(known, description))
    outcomes = [
        run(verb, entry.name, [one], config=config, options=options) for one in (bag, known)
    ]
    if verb == 'identify':
        values = [[value.value for value in one.values.values()] for one in outcomes]
        assert values[0] == pytest.approx(values[1], rel=1e-12, nan_ok=True)
    else:
        for name in outcomes[0]:
            assert outcomes[0][name].value == pytest.approx(
                outcomes[1][name].value, rel=1e-12, nan_ok=True
            )


@pytest.mark.parametrize(('entry', 'verb'), VERBS)
def test_a_recording_of_something_else_is_one_sentence(
    entry: registry.Entry, verb: str, tmp_path: Path
) -> None:
    with BagWriter(tmp_path / 'empty'):
        pass
    _, _, options, config = CASES[entry.name]
    with pytest.raises(InputError) as refused:
        run(verb, entry.name, [tmp_path / 'empty'], config=config, options=options)
    assert '\n' not in str(refused.value)
    assert 'empty' in str(refused.value), 'the sentence names the recording'
