"""The real scheduler without a cluster: its placements, and what it says to plans."""

from testbed.simulate.instance import Instance, Measurement, Placements
from testbed.simulate.judge import Judge
from testbed.simulate.profile import profile_file
from testbed.simulate.question import EVERY_HARM, Judgement, Question, Verdict
from testbed.simulate.simulator import Simulator

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
