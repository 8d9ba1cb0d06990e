"""The commands of the documents about single systems; see test_commands."""

from __future__ import annotations

from pathlib import Path

import pytest
from running import SECONDS, run_document, runnable_documents


@pytest.mark.timeout(2 * SECONDS)
@pytest.mark.parametrize('path', runnable_documents(general=False), ids=lambda path: path.stem)
def test_blocks_run(path: Path, tmp_path: Path) -> None:
    run_document(path, tmp_path)
