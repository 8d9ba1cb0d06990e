"""No module imports another that imports it back, over however many steps."""

from __future__ import annotations

import pytest


def test_no_module_of_the_package_is_part_of_a_circle() -> None:
    # Not at the top: launch_testing, which imports every file, would leave out all its folder.
    grimp = pytest.importorskip('grimp', reason='import-linter is not installed')
    graph = grimp.build_graph('veh_identification', cache_dir=None)
    below = {name: set(graph.find_modules_directly_imported_by(name)) for name in graph.modules}
    # What imports nothing that is left is no part of a circle: take it away until nothing is.
    while free := {name for name, imported in below.items() if not imported & below.keys()}:
        below = {name: imported for name, imported in below.items() if name not in free}
    while top := below.keys() - {one for imported in below.values() for one in imported}:
        below = {name: imported for name, imported in below.items() if name not in top}
    circles = sorted(f'{name} -> {one}' for name in below for one in below[name] & below.keys())
    assert not circles, '\n'.join(circles)
