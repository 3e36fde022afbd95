"""The real scheduler without a cluster: its placements, and its verdicts on plans."""

from stowage_testbed.simulate.instance import Instance, Measurement, Placements
from stowage_testbed.simulate.profile import profile_file
from stowage_testbed.simulate.question import (
    NO_PROTECTION,
    Question,
    Verdict,
    Verification,
)
from stowage_testbed.simulate.simulator import Simulator
from stowage_testbed.simulate.verifier import SchedulerVerifier

__all__ = [
    "NO_PROTECTION",
    "Instance",
    "Measurement",
    "Placements",
    "Question",
    "SchedulerVerifier",
    "Simulator",
    "Verdict",
    "Verification",
    "profile_file",
]
