"""The command line, one file a command group; begin with `main.app`.

Importing a group's file registers its commands; a new group adds one import.
"""

from stowage_testbed.cli import (  # noqa: F401
    answers,
    cluster,
    compare,
    init,
    plan_control,
    report,
    reproduce,
    retired,
    run,
    scenario,
    simulate,
    tools,
    try_out,
    watch,
)
from stowage_testbed.cli.main import app, main

__all__ = ["app", "main"]
