"""One call of `stowage run`: its listeners, what it writes, how it exits."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import typer

from stowage_testbed.base.errors import InputError
from stowage_testbed.base.files import write_whole
from stowage_testbed.cli.main import FAILED
from stowage_testbed.report.bundle import Bundle, write_json
from stowage_testbed.report.evidence import EvidenceWriter
from stowage_testbed.report.junit import write_junit
from stowage_testbed.report.progress import LiveProgress
from stowage_testbed.report.showing import MARKDOWN, show_run, write_markdown
from stowage_testbed.run.context import make_run_id
from stowage_testbed.run.listener import Listener, Listeners
from stowage_testbed.run.outcome import RunOutcome
from stowage_testbed.run.request import RunRequest
from stowage_testbed.run.runner import Runner
from stowage_testbed.text.tables import append_step_summary
from stowage_testbed.toolchain.environment import environment

STDOUT = Path("-")
INTERRUPTED = 130


class RunSession(Listener):
    """Files and screen of a run.

    Parameters
    ----------
    results
        Folder of the results bundles; made if it is not there.
    json_file
        Where the run's document goes besides the bundle; ``-`` is standard output,
        which then holds nothing else.
    junit
        Where a JUnit file goes.
    minor
        Of Kubernetes, whose tools are said to have been used.

    Raises
    ------
    InputError
        Results cannot be written there.
    """

    def __init__(self, results: Path, json_file: Path | None, junit: Path | None, minor: str | None = None) -> None:
        self._run_id = make_run_id()
        self._json_file = json_file
        self._junit = junit
        self._environment = environment(minor)
        self._progress = LiveProgress()
        self._bundle = Bundle(results, self._run_id, self._environment)
        _make_folders(self._bundle.folder, json_file, junit)

    @property
    def folder(self) -> Path:
        """The bundle's folder."""
        return self._bundle.folder

    def run(self, request: RunRequest) -> int:
        """Run, report, and return the exit code."""
        runner = Runner(request, self._run_id, self._progress, self._make_writers)
        try:
            outcome = runner.run()
        except KeyboardInterrupt:
            return INTERRUPTED
        finally:
            self._progress.close()
        if outcome.error:
            return outcome.error_code
        if outcome.passed:
            return 0
        failed = [one for one in outcome.scenarios if not one.passed]
        refused = failed and all(one.refused for one in failed)
        return InputError.exit_code if refused else FAILED

    def _make_writers(self, shown: Listener) -> Listener:
        evidence = EvidenceWriter(self._bundle.folder, shown.say)
        return Listeners(self._bundle, evidence, self)

    def run_finished(self, outcome: RunOutcome) -> None:
        """Write the files and show what is in them."""
        outcome = replace(outcome, environment=self._environment)
        shown = write_markdown(outcome)
        write_whole(self._bundle.folder / MARKDOWN, shown)
        append_step_summary(shown, os.environ)
        if self._junit is not None:
            write_junit(outcome, self._junit)
        if self._json_file is not None:
            document = outcome.document()
            if self._json_file == STDOUT:
                typer.echo(json.dumps(document, indent=2, ensure_ascii=False))
            else:
                write_json(self._json_file, document)
        self.show(outcome)

    def show(self, outcome: RunOutcome) -> None:
        """Print what came of it."""
        text = show_run(outcome, self.folder)
        typer.echo(f"\n{text}", err=self._json_file == STDOUT)


def _make_folders(bundle: Path, *files: Path | None) -> None:
    parents = [file.parent for file in files if file is not None and file != STDOUT]
    for folder in (bundle, *parents):
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"cannot write results to {folder}: {error.strerror}; name another place") from error
