"""The command line, one file a command group.

Importing a group's file registers its commands; a new group adds one import.
"""

from stowage_testbed.cli import (  # noqa: F401
    answers,
    cluster,
    compare,
    doctor,
    from_cluster,
    images,
    init,
    page,
    plan,
    record,
    report,
    reproduce,
    retired,
    run,
    scenario,
    simulate,
    tools,
    try_out,
)
from stowage_testbed.cli.main import app, main

__all__ = ["app", "main"]
