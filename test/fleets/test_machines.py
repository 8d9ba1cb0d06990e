from __future__ import annotations

from pathlib import Path

import pytest

from veh_identification.errors import UsageError
from veh_identification.fleets.machines import Planned, machine_rule, once, plan
from veh_identification.fleets.recordings import Named


@pytest.fixture
def bag(tmp_path: Path) -> Path:
    found = tmp_path / 'VIN123' / 'monday'
    found.mkdir(parents=True)
    (found / 'metadata.yaml').write_text(
        'rosbag2_bagfile_information:\n  version: 8\n  storage_identifier: mcap\n'
        '  relative_file_paths: [a.mcap]\n  custom_data: {serial: S7}\n'
    )
    (tmp_path / 'VIN123.yaml').write_text('vehicle: {name: Golf 3}\n')
    return found


@pytest.mark.parametrize(
    ('rule', 'machine'),
    [
        ('folder', 'VIN123'),
        ('same:our car', 'our car'),
        ('path:VIN\\d', 'VIN1'),
        ('path:VIN(\\d+)', '123'),
        ('path:(x)?/(?P<machine>V[A-Z]+)', 'VIN'),
        ('metadata:serial', 'S7'),
        ('description:vehicle.name', 'Golf 3'),
    ],
)
def test_rules(bag: Path, rule: str, machine: str) -> None:
    config = bag.parents[1] / '{folder}.yaml'
    found = plan(Named(str(bag)), machine_rule(rule), config)
    assert (found.machine, found.error) == (machine, '')
    assert found.config == bag.parents[1] / 'VIN123.yaml'


def test_description_by_machine_and_list_before_rule(bag: Path) -> None:
    config = bag.parents[1] / '{machine}.yaml'
    found = plan(Named(str(bag)), machine_rule('folder'), config)
    assert found.config == bag.parents[1] / 'VIN123.yaml'
    listed = Named(str(bag), 'of the list', str(found.config))
    assert plan(listed, machine_rule('folder'), None).machine == 'of the list'
    assert plan(listed, machine_rule('folder'), None).config == found.config


@pytest.mark.parametrize(
    ('rule', 'config', 'told'),
    [
        ('path:nowhere', None, 'does not match'),
        ('metadata:owner', None, 'no entry owner'),
        ('description:vehicle.plate', 'VIN123.yaml', 'no entry vehicle.plate'),
        ('folder', '{machine}_x.yaml', 'no such file'),
        ('path:(/.*)', None, 'is no name of a machine'),
    ],
)
def test_what_one_recording_lacks_is_its_sentence(
    bag: Path, rule: str, config: str | None, told: str
) -> None:
    place = None if config is None else str(bag.parents[1] / config)
    assert told in plan(Named(str(bag)), machine_rule(rule), place).error


def test_what_no_recording_can_have_is_an_error(bag: Path) -> None:
    for rule in ('colour', 'path:', 'path:(', 'same:', 'same:a/b'):
        with pytest.raises(UsageError, match='--machine-from'):
            machine_rule(rule)
    with pytest.raises(UsageError, match='no such file'):
        plan(Named(str(bag)), machine_rule('folder'), 'no_such.yaml')
    with pytest.raises(UsageError, match='needs --config'):
        plan(Named(str(bag)), machine_rule('description:a'), None)


def test_copies_count_once(tmp_path: Path) -> None:
    for name, content in (('a', b'one'), ('b', b'one'), ('c', b'two'), ('d', b'longer')):
        folder = tmp_path / name
        folder.mkdir()
        (folder / f'{name}.mcap').write_bytes(content)
        (folder / 'metadata.yaml').write_text(name)
    given = [Planned(str(tmp_path / name), 'arm', None) for name in 'abcd']
    kept, said = once(given)
    assert [Path(one.address).name for one in kept] == ['a', 'c', 'd']
    (text,) = said
    assert text.startswith(f'{tmp_path / "b"} holds the same as {tmp_path / "a"} and is left out')
    # What cannot be read is told later, and what is far away is known by its address alone.
    missing = [Planned(str(tmp_path / 'x'), 'arm', None), Planned('s3://x/y', 'arm', None)] * 2
    assert once(missing) == (tuple(missing), ())
