"""`stowage`: every command group in one place, and errors without tracebacks."""

import errno
import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

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
        _fail(str(error), error.exit_code)
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        _fail(f"there is no room left to write to ({error})", RunEndedError.exit_code)
    finally:
        # Else the interpreter looks through all objects once more before it ends, which
        # takes a second on a busy machine.
        gc.freeze()


@contextmanager
def reading_input() -> Iterator[None]:
    """Have every known error in the block be one of the input."""
    try:
        yield
    except StowageError as error:
        typer.echo(f"stowage: {error}", err=True)
        raise typer.Exit(InputError.exit_code) from error


def _fail(message: str, code: int) -> NoReturn:
    print(f"stowage: {message}", file=sys.stderr)  # noqa: T201
    sys.exit(code)
