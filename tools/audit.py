"""Known vulnerabilities of the installed packages by pip-audit, where its service can be reached."""

from __future__ import annotations

import subprocess
import sys
import urllib.error
import urllib.request

SERVICE = 'https://pypi.org/pypi/pip/json'
SECONDS = 15.0


def main() -> int:
    """The exit status of pip-audit; 0 with a sentence where nobody can be asked."""
    try:
        with urllib.request.urlopen(SERVICE, timeout=SECONDS) as answer:
            answer.read(1)
    except (OSError, urllib.error.URLError) as error:
        print(
            f'audit: {SERVICE} cannot be reached from here ({error}): nothing was audited.',
            file=sys.stderr,
        )
        return 0
    install = [sys.executable, '-m', 'pip', 'install', '-qq', '--disable-pip-version-check']
    subprocess.run([*install, 'pip-audit'], check=True)
    audit = [sys.executable, '-m', 'pip_audit', '--skip-editable', '--progress-spinner', 'off']
    return subprocess.run(audit, check=False).returncode


if __name__ == '__main__':
    sys.exit(main())
