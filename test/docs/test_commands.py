"""Every command and every piece of Python in README.md and docs/ is run, or checked."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from fences import LANGUAGES, Fence, check_command, commands, documents, fences
from running import GENERAL, SECONDS, execute, folder_of, run_document, runnable_documents

PATHS = documents()


@pytest.mark.parametrize('path', PATHS, ids=lambda path: path.stem)
def test_documents_say_what_their_blocks_are(path: Path) -> None:
    for fence in fences(path):
        assert fence.language in LANGUAGES, f'{path.name}:{fence.line}: {fence.language!r}'
        if fence.language == 'sh':
            found = commands(fence.text)
            assert found, f'{path.name}:{fence.line}: no command in the block'
            if fence.marker:
                for words in found:
                    check_command(words)


def test_no_document_is_forgotten() -> None:
    general = {path.stem for path in runnable_documents(general=True)}
    assert general == set(GENERAL)


@pytest.mark.timeout(2 * SECONDS)
@pytest.mark.parametrize('path', runnable_documents(general=True), ids=lambda path: path.stem)
def test_blocks_run(path: Path, tmp_path: Path) -> None:
    run_document(path, tmp_path)


def with_ros(path: Path) -> list[Fence]:
    """Blocks to run where ROS is: those that need it, and those that come before them."""
    found = [f for f in fences(path) if f.language in ('sh', 'python')
             and f.marker in ('', 'needs ros')]  # fmt: skip
    while found and not found[-1].marker:
        found.pop()
    return found


@pytest.mark.ros
@pytest.mark.timeout(2 * SECONDS)
@pytest.mark.skipif(shutil.which('ros2') is None, reason='ros2 is not on the PATH')
@pytest.mark.parametrize('path', [p for p in PATHS if with_ros(p)], ids=lambda path: path.stem)
def test_ros_blocks_run(path: Path, tmp_path: Path) -> None:
    folder = folder_of(path, tmp_path)
    for fence in with_ros(path):
        execute(fence, folder)
