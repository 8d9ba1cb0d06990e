"""What checks and figures say, in one shape: findings, and the verdict they add up to."""

from veh_identification.findings.finding import CONVINCING, Finding, Level, doubt
from veh_identification.findings.verdict import Verdict, verdict_of

__all__ = ['CONVINCING', 'Finding', 'Level', 'Verdict', 'doubt', 'verdict_of']
