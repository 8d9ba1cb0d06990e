"""Mistakes that were thought of after the checks stood, as an independent tester would.

Titles, changes and accepted codes were written down, and committed, before any was run.
"""

from __future__ import annotations

#: Modules of this folder; each has MISTAKES of the system of its name (see mistaken.common).
SYSTEMS = ('car', 'humanoid', 'parallel', 'vehicle', 'fusion', 'robot', 'handling', 'mechanism')
