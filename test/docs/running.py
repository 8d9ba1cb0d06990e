"""Runs the blocks of a document as a user would, in a folder of its own."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from fences import ROOT, Fence, commands, documents, fences

from veh_identification.cli.main import main

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


#: As a user would, who starts a program each time; the other one changes the registry.
APART = ('README', 'adding_a_system')
#: What only a shell can do; globs our own commands understand.
SHELL = re.compile(r'[|<>$;&`(){}~]')


def plain_commands(fence: Fence) -> list[list[str]]:
    """The commands of a block that consists of `veh-id` alone, else none."""
    if fence.language != 'sh' or SHELL.search(re.sub(r'(^|\s)#.*', '', fence.text, flags=re.M)):
        return []
    found = commands(fence.text)
    return found if all(words[0] == 'veh-id' for words in found) else []


@contextlib.contextmanager
def _inside(folder: Path) -> Iterator[None]:
    """In a folder, as the command line finds it; signals are given back."""
    handler, before = signal.getsignal(signal.SIGTERM), Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
        signal.signal(signal.SIGTERM, handler)


def execute_here(fence: Fence, found: list[list[str]], folder: Path) -> None:
    """Run commands in this process: starting Python and Numba takes seconds each time."""
    for words in found:
        shown = io.StringIO()
        with (
            _inside(folder),
            contextlib.redirect_stdout(shown),
            contextlib.redirect_stderr(shown),
        ):
            try:
                status = main(words[1:])
            except SystemExit as end:
                status = end.code if isinstance(end.code, int) else int(end.code is not None)
        assert status == 0, (
            f'{fence.document}:{fence.line} ends with {status}\n{shlex.join(words)}\n'
            f'--- output\n{shown.getvalue()[-4000:]}'
        )


def execute(fence: Fence, folder: Path, here: bool = False) -> None:
    """Run one block; its output is shown when it fails."""
    if here and (found := plain_commands(fence)):
        execute_here(fence, found, folder)
        return
    if here and fence.language == 'python':
        with _inside(folder), contextlib.redirect_stdout(io.StringIO()):
            exec(compile(fence.text, f'{fence.document}:{fence.line}', 'exec'), {})
        return
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
    """All blocks of a document, in order; those of APART as processes of their own."""
    folder = folder_of(path, base)
    for fence in runnable(path):
        execute(fence, folder, here=path.stem not in APART)


def runnable_documents(general: bool) -> list[Path]:
    """Documents with blocks to run."""
    return [p for p in documents() if runnable(p) and (p.stem in GENERAL) == general]
