"""One call of `stowage run` or `stowage try`: what it writes and shows, how it exits."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import typer

from stowage_testbed.base.errors import InputError
from stowage_testbed.base.files import write_whole
from stowage_testbed.cli.main import FAILED
from stowage_testbed.pytest.scenario_runs import run_scenarios
from stowage_testbed.report.bundle import Bundle, write_json
from stowage_testbed.report.progress import LiveProgress
from stowage_testbed.report.showing import MARKDOWN, show_run, write_markdown
from stowage_testbed.run.context import make_run_id
from stowage_testbed.run.outcome import RunOutcome
from stowage_testbed.run.request import RunRequest
from stowage_testbed.text.tables import append_step_summary
from stowage_testbed.toolchain.environment import environment

STDOUT = Path("-")


def make_folder(folder: Path) -> None:
    """Make a folder for results, if there is none; an InputError if that cannot be."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot write results to {folder}: {error.strerror}; name another place") from error


def run_and_show(
    request: RunRequest,
    results: Path,
    json_file: Path | None = None,
    junit: Path | None = None,
    *,
    show_passed: Callable[[RunOutcome, Path], None] | None = None,
) -> int:
    """Run scenarios, write the files, show what is in them, and return the exit code.

    ``json_file`` is where the run's document goes besides the bundle; ``-`` is standard output, which then holds
    nothing else. ``show_passed`` shows, in the place of tables, a run that has passed and its folder. Raises an
    InputError if results cannot be written.
    """
    progress = LiveProgress()
    bundle = Bundle(results, make_run_id(), environment(request.minor), progress)
    files = [file for file in (json_file, junit) if file is not None and file != STDOUT]
    for folder in (bundle.folder, *(file.parent for file in files)):
        make_folder(folder)
    try:
        outcome = run_scenarios(request, bundle, junit)
    finally:
        progress.close()
    shown = write_markdown(outcome)
    write_whole(bundle.folder / MARKDOWN, shown)
    append_step_summary(shown, os.environ)
    if json_file == STDOUT:
        typer.echo(json.dumps(outcome.document(), indent=2, ensure_ascii=False))
    elif json_file is not None:
        write_json(json_file, outcome.document())
    if outcome.passed and show_passed is not None:
        show_passed(outcome, bundle.folder)
    else:
        typer.echo(f"\n{show_run(outcome, bundle.folder)}", err=json_file == STDOUT)
    if outcome.error:
        return outcome.error_code
    if outcome.passed:
        return 0
    failed = [one for one in outcome.scenarios if not one.passed]
    refused = failed and all(one.refused for one in failed)
    return InputError.exit_code if refused else FAILED
