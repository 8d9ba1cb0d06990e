"""What checks and figures say, in one shape: findings, and the verdict they add up to."""

from veh_identification.findings.finding import Finding, Level
from veh_identification.findings.verdict import Verdict, verdict_of

__all__ = ['Finding', 'Level', 'Verdict', 'verdict_of']
