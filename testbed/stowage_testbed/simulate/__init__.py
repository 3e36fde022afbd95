"""The real scheduler without a cluster: its placements, and what it says to plans."""

from stowage_testbed.simulate.instance import Instance, Measurement, Placements
from stowage_testbed.simulate.judge import Judge
from stowage_testbed.simulate.profile import profile_file
from stowage_testbed.simulate.question import EVERY_HARM, Judgement, Question, Verdict
from stowage_testbed.simulate.simulator import Simulator

__all__ = [
    "EVERY_HARM",
    "Instance",
    "Judge",
    "Judgement",
    "Measurement",
    "Placements",
    "Question",
    "Simulator",
    "Verdict",
    "profile_file",
]
