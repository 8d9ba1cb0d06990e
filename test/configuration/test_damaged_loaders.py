"""Damaged files through every loader of the package (bench/damaged_yaml.py does more of them)."""

from __future__ import annotations

from damaged_yaml import loaders, try_loaders


def test_every_loader_takes_a_damaged_file_or_says_why_not() -> None:
    outcomes, faults = try_loaders(600, seed=13)
    assert [(fault.loader, fault.why) for fault in faults] == []
    assert set(outcomes) == {loader.name for loader in loaders()}
    for name, counts in outcomes.items():
        assert counts['taken'] + counts['refused'] == 40, name
    refused = sum(counts['refused'] for counts in outcomes.values())
    assert refused > 200


def test_undamaged_files_are_taken(tmp_path) -> None:
    path = tmp_path / 'file.yaml'
    for loader in loaders():
        for content in loader.seeds:
            path.write_bytes(content)
            loader.call(path)
