"""`stowage`: every command group in one place, and errors without tracebacks."""

from __future__ import annotations

import sys

import typer

from testbed.errors import StowageError

app = typer.Typer(
    name="stowage",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="An end-to-end testbed for Kubernetes schedulers on fake nodes.",
)


def main() -> None:
    """Run the command line; a known error is one clear message."""
    try:
        app()
    except StowageError as error:
        print(f"stowage: {error}", file=sys.stderr)  # noqa: T201
        sys.exit(error.exit_code)
