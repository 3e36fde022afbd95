"""The real scheduler without a cluster: its placements, and its verdicts on plans."""

from stowage_testbed.simulate.instance import (
    NO_PROTECTION,
    Continued,
    Instance,
    Judgement,
    LeftOut,
    Measurement,
    Placements,
    Question,
    Verdict,
    Verification,
)
from stowage_testbed.simulate.process import SchedulerVerifier, Simulator, profile_file

__all__ = [
    "NO_PROTECTION",
    "Continued",
    "Instance",
    "Judgement",
    "LeftOut",
    "Measurement",
    "Placements",
    "Question",
    "SchedulerVerifier",
    "Simulator",
    "Verdict",
    "Verification",
    "profile_file",
]
