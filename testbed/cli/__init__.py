"""The command line, one file a command group.

Importing a group's file registers its commands; a new group adds one import.
"""

from testbed.cli import bench, cluster, plan, run, scenario, solve, tools
from testbed.cli.main import app, main

__all__ = [
    "app",
    "bench",
    "cluster",
    "main",
    "plan",
    "run",
    "scenario",
    "solve",
    "tools",
]
