"""What every system gives back, in one shape: outcome, folder, messages."""

from veh_identification.findings import Finding, Level, Verdict
from veh_identification.results.outcome import Outcome

__all__ = ['Finding', 'Level', 'Outcome', 'Verdict']
