"""`stowage solve` and `stowage verify`: the optimiser's own commands, on files."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import typer

from stowage_optimizer.errors import OptimizerError
from stowage_testbed.base.errors import StowageError
from stowage_testbed.cli.main import app

AS_GIVEN = {"allow_extra_args": True, "ignore_unknown_options": True}
"""The optimiser reads its arguments itself, so that no option is written twice."""


@app.command("solve", context_settings=AS_GIVEN, add_help_option=False)
def solve(context: typer.Context) -> None:
    """Solve a snapshot file and print the plan; --help lists the options."""
    # The solver takes half a second to import, which no other command needs.
    from stowage_optimizer.cli.solve import run  # noqa: PLC0415

    _run(run, context)


@app.command("verify", context_settings=AS_GIVEN, add_help_option=False)
def verify(context: typer.Context) -> None:
    """Check a plan file with the independent checker; --help lists the options."""
    from stowage_optimizer.cli.verify import run  # noqa: PLC0415 - as above

    _run(run, context)


def _run(run: Callable[[Sequence[str], str], int], context: typer.Context) -> None:
    """Report the optimiser's errors as the testbed's own."""
    try:
        raise typer.Exit(run(context.args, context.command_path))
    except OptimizerError as error:
        failure = StowageError(str(error))
        failure.exit_code = error.exit_code
        raise failure from None
