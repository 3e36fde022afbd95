"""`stowage-optimizer`: each command in its own file, imported only when it is used.

The probe runs every few seconds beside the service, so it must not load a solver.
"""

import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import cast

from stowage_optimizer.errors import OptimizerError

COMMANDS = {
    "serve": "Serve the contract on a Unix socket.",
    "solve": "Solve a snapshot file and print the plan.",
    "verify": "Check a plan file against its snapshot.",
    "compile": "Compile the hot loops ahead of the first start.",
    "probe": "Exit 0 if the service on the socket is ready.",
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command; a known error is one clear message."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if not given or given[0] in ("-h", "--help"):
        print(_usage())  # noqa: T201 - the help text
        sys.exit(0 if given else 2)
    if given[0] not in COMMANDS:
        print(f"unknown command {given[0]!r}\n\n{_usage()}", file=sys.stderr)  # noqa: T201
        sys.exit(2)
    module = import_module(f"stowage_optimizer.cli.{given[0]}")
    run = cast("Callable[[Sequence[str]], int]", module.run)
    try:
        sys.exit(run(given[1:]))
    except OptimizerError as error:
        print(f"stowage-optimizer: {error}", file=sys.stderr)  # noqa: T201
        sys.exit(error.exit_code)


def _usage() -> str:
    lines = [f"  {name:<8} {what}" for name, what in COMMANDS.items()]
    return "usage: stowage-optimizer COMMAND [OPTIONS]\n\n" + "\n".join(lines)
