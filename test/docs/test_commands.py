"""Every command and every piece of Python in README.md and docs/ is run, or checked.

Blocks without a marker run anywhere, here and in test_system_commands; those with one where their
needs are met, see test_marked_blocks. Only what installs software is parsed and not run.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from fences import LANGUAGES, check_command, commands, documents, fences
from running import GENERAL, SECONDS, run_document, runnable_documents

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
