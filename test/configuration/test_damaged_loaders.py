"""Damaged files through every loader of the package (bench/damaged_yaml.py does more of them)."""

from __future__ import annotations

from damaged_yaml import _outcome, loaders, try_loaders


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


#: The row of the table: each of them ended one loader or another with a traceback.
ODD = [
    *('2020-13-45', '9' * 6000, '!!int x', '{[1, 2]: 3}', '? [a]\n: 1', '&a [*a]', '&a {b: *a}'),
    *('!!set {a, b}', '!!float nothing', '!!timestamp x', '[' * 3000, '{a: ' * 3000, '- ' * 2000),
    *('!!binary =', '!!omap [a: 1]', '!!pairs [a]', '!!python/tuple [1]', '1_' * 3000 + '1'),
]


def test_every_oddity_through_every_loader(tmp_path) -> None:
    path = tmp_path / 'odd.yaml'
    outcomes = set()
    for loader in loaders():
        first = loader.seeds[0].decode().splitlines()
        key = next((line.split(':')[0] for line in first if line[:1].isalpha()), 'a')
        for odd in ODD:
            path.write_text(f'{key}: {odd}\n')
            outcomes.add(_outcome(loader, path))
        path.write_text(ODD[len(outcomes) % len(ODD)])
        outcomes.add(_outcome(loader, path))
    assert outcomes == {('taken', ''), ('refused', '')}
