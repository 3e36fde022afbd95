"""The real scheduler without a cluster: its placements, and its verdicts on plans."""

from stowage_testbed.simulate.instance import (
    NO_PROTECTION,
    Continued,
    Instance,
    Judgement,
    Measurement,
    Placements,
    Question,
    Remark,
    UnknownField,
    Verdict,
    Verification,
)
from stowage_testbed.simulate.process import SchedulerVerifier, Simulator, find_profile

__all__ = [
    "NO_PROTECTION",
    "Continued",
    "Instance",
    "Judgement",
    "Measurement",
    "Placements",
    "Question",
    "Remark",
    "SchedulerVerifier",
    "Simulator",
    "UnknownField",
    "Verdict",
    "Verification",
    "find_profile",
]
