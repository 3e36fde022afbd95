"""`stowage`: every command group in one place, and errors without tracebacks."""

import errno
import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from stowage_testbed.base.errors import InputError, RunEndedError, StowageError

FAILED = 1
"""Exit code of what was carried out and did not hold."""

app = typer.Typer(
    name="stowage",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="An end-to-end testbed for Kubernetes schedulers on fake nodes.",
)


def main(commands: typer.Typer = app) -> None:
    """Run the command line, or a part of it; a known error is one clear message."""
    try:
        commands()
    except StowageError as error:
        say(str(error))
        sys.exit(error.exit_code)
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        say(f"there is no room left to write to ({error})")
        sys.exit(RunEndedError.exit_code)
    finally:
        # Else the interpreter looks through all objects once more before it ends, which
        # takes a second on a busy machine.
        gc.freeze()


def say(text: str) -> None:
    """Print a line on standard error: standard output is for what was asked for."""
    typer.echo(f"stowage: {text}", err=True)


@contextmanager
def reading_input() -> Iterator[None]:
    """Have every known error in the block be one of the input."""
    try:
        yield
    except StowageError as error:
        say(str(error))
        raise typer.Exit(InputError.exit_code) from error
