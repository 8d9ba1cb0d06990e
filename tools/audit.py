"""Known vulnerabilities of what an environment holds, by pip-audit, where its service answers.

pip-audit gets an environment of its own: what is looked at must not change by looking. A mirror of
packages may answer without knowing any vulnerability: then every package is skipped, and that is
not the same as none being vulnerable.
"""

from __future__ import annotations

import json
import subprocess
import sys
import sysconfig
import tempfile
import venv
from pathlib import Path
from typing import Any

QUIET = ('-qq', '--disable-pip-version-check')


def _nothing(why: str) -> int:
    print(f'audit: {why}: nothing was audited.', file=sys.stderr)
    return 0


def told(answer: dict[str, Any]) -> int:
    """Say what pip-audit found; 1 when a package is vulnerable."""
    packages = answer['dependencies']
    known = [one for one in packages if 'skip_reason' not in one]
    if not known:
        return _nothing(f'the service knows none of the {len(packages)} packages')
    vulnerable = [one for one in known if one['vulns']]
    for one in vulnerable:
        names = ', '.join(sorted(each['id'] for each in one['vulns']))
        print(f'audit: {one["name"]} {one["version"]}: {names}')
    left = len(packages) - len(known)
    print(f'audit: {len(vulnerable)} of {len(known)} packages vulnerable, {left} not known')
    return 1 if vulnerable else 0


def main() -> int:
    """1 when a package is vulnerable; 0 with a sentence where nobody can be asked."""
    looked_at = sysconfig.get_paths()['purelib']
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = str(Path(folder) / 'bin' / 'python')
        install = [python, '-m', 'pip', 'install', *QUIET, 'pip-audit']
        if subprocess.run(install, check=False, capture_output=True).returncode:
            return _nothing('pip-audit cannot be installed')
        audit = [python, '-m', 'pip_audit', '--path', looked_at, '--format', 'json']
        done = subprocess.run(
            [*audit, '--progress-spinner', 'off'], check=False, capture_output=True, text=True
        )
    try:
        return told(json.loads(done.stdout))
    except (ValueError, KeyError):
        return _nothing('the service of known vulnerabilities does not answer')


if __name__ == '__main__':
    sys.exit(main())
