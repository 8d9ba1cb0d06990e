"""Mistakes by system, for `veh-id bench mistakes`: a module per system, named in SYSTEMS."""

from __future__ import annotations

#: Modules of this folder; each has NAME, MISTAKES, clean(), offline() and live() (see common), or
#: offline() and WAYS where no node does it.
SYSTEMS = ('car', 'humanoid', 'parallel', 'vehicle', 'fusion', 'robot', 'handling', 'mechanism')
