"""The command line, one file a command group.

Importing a group's file registers its commands; a new group adds one import.
"""

from testbed.cli import scenario, tools
from testbed.cli.main import app, main

__all__ = ["app", "main", "scenario", "tools"]
