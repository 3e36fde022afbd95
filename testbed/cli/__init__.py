"""The command line, one file a command group.

Importing a group's file registers its commands; a new group adds one import.
"""

from testbed.cli import agree, bench, cluster, fault, plan, run, scenario, solve, tools
from testbed.cli.main import app, main

__all__ = [
    "agree",
    "app",
    "bench",
    "cluster",
    "fault",
    "main",
    "plan",
    "run",
    "scenario",
    "solve",
    "tools",
]
