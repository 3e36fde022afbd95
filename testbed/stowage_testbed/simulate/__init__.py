"""The real scheduler without a cluster: its placements, and its judgements of plans."""

from stowage_testbed.simulate.instance import (
    NO_PROTECTION,
    Continued,
    Instance,
    Judgement,
    Placements,
    PlanJudgement,
    Question,
    Remark,
    UnknownField,
    Verification,
)
from stowage_testbed.simulate.process import SchedulerVerifier, Simulator, find_profile

__all__ = [
    "NO_PROTECTION",
    "Continued",
    "Instance",
    "Judgement",
    "Placements",
    "PlanJudgement",
    "Question",
    "Remark",
    "SchedulerVerifier",
    "Simulator",
    "UnknownField",
    "Verification",
    "find_profile",
]
