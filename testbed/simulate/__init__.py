"""Placements of the real scheduler without a cluster: milliseconds an instance."""

from testbed.simulate.instance import Instance, Placements
from testbed.simulate.profile import profile_file
from testbed.simulate.simulator import Simulator

__all__ = ["Instance", "Placements", "Simulator", "profile_file"]
