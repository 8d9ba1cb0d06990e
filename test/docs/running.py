"""Runs the blocks of a document as a user would, in a folder of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from fences import ROOT, Fence, documents, fences

#: Against commands that hang; nothing here measures speed.
SECONDS = 600
#: Documents whose blocks one test file runs; the other file takes the rest, so that two workers
#: share the work.
GENERAL = ('README', 'getting_started', 'python_api', 'adding_a_system', 'parallel_robot')


def folder_of(document: Path, base: Path) -> Path:
    """A folder that looks like the repository's to the commands of a document."""
    folder = base / document.stem
    folder.mkdir()
    for name in ('config', 'launch', 'docs', 'README.md'):
        (folder / name).symlink_to(ROOT / name)
    return folder


def environment_of(folder: Path) -> dict[str, str]:
    """The environment with `veh-id` on the path, which with ROS alone pip has not put there."""
    places = [str(Path(sys.executable).parent), os.environ['PATH']]
    if not (Path(sys.executable).parent / 'veh-id').exists():
        program = folder / '.bin' / 'veh-id'
        if not program.exists():
            program.parent.mkdir()
            program.write_text(f'#!/bin/sh\nexec {sys.executable} {ROOT}/scripts/veh-id "$@"\n')
            program.chmod(0o755)
        places.insert(0, str(program.parent))
    return {**os.environ, 'PATH': os.pathsep.join(places), 'OMP_NUM_THREADS': '1'}


def execute(fence: Fence, folder: Path) -> None:
    """Run one block; its output is shown when it fails."""
    environment = environment_of(folder)
    if fence.language == 'python':
        command = [sys.executable, '-c', fence.text]
    else:
        command = ['bash', '-euo', 'pipefail', '-c', fence.text]
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, (
        f'{fence.document}:{fence.line} ends with {done.returncode}\n{fence.text}\n'
        f'--- output\n{done.stdout[-2000:]}\n--- errors\n{done.stderr[-2000:]}'
    )


def runnable(path: Path) -> list[Fence]:
    """Blocks that run on any machine."""
    return [f for f in fences(path) if f.language in ('sh', 'python') and not f.marker]


def run_document(path: Path, base: Path) -> None:
    """All blocks of a document, in order."""
    folder = folder_of(path, base)
    for fence in runnable(path):
        execute(fence, folder)


def runnable_documents(general: bool) -> list[Path]:
    """Documents with blocks to run."""
    return [p for p in documents() if runnable(p) and (p.stem in GENERAL) == general]
