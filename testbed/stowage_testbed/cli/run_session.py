"""One call of `stowage run` or `stowage try`: its listeners, what it writes, how it exits."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import typer
from rich.console import Console

from stowage_testbed.base.errors import InputError
from stowage_testbed.base.files import write_whole
from stowage_testbed.cli.main import FAILED
from stowage_testbed.cluster.backend import TOOLS, Backend
from stowage_testbed.pytest.scenario_runs import run_scenarios
from stowage_testbed.report.before_after import draw_comparison, write_page
from stowage_testbed.report.bundle import Bundle, write_json
from stowage_testbed.report.progress import LiveProgress
from stowage_testbed.report.showing import MARKDOWN, show_run, write_markdown
from stowage_testbed.run.context import make_run_id
from stowage_testbed.run.listener import Listener
from stowage_testbed.run.outcome import RunOutcome
from stowage_testbed.run.request import RunRequest, install_needed
from stowage_testbed.scenario.instances import generate
from stowage_testbed.scenario.model import InstanceSpec, OptimizerSettings, Scenario, imply_steps
from stowage_testbed.text.tables import append_step_summary
from stowage_testbed.toolchain.environment import environment

STDOUT = Path("-")


class RunSession(Listener):
    """Files and screen of a run.

    ``json_file`` is where the run's document goes besides the bundle; ``-`` is standard output, which then holds
    nothing else. Raises an InputError if results cannot be written.
    """

    def __init__(self, results: Path, json_file: Path | None, junit: Path | None, minor: str | None = None) -> None:
        self._run_id = make_run_id()
        self._json_file = json_file
        self._junit = junit
        self._environment = environment(minor)
        self._progress = LiveProgress()
        self._bundle = Bundle(results, self._run_id, self._environment)
        self.folder = self._bundle.folder
        files = [file for file in (json_file, junit) if file is not None and file != STDOUT]
        for folder in (self.folder, *(file.parent for file in files)):
            try:
                folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise InputError(f"cannot write results to {folder}: {error.strerror}; name another place") from error

    def run(self, request: RunRequest) -> int:
        """Run, report, and return the exit code."""
        try:
            outcome = run_scenarios(request, self._run_id, Listener(self._progress, self), self._bundle, self._junit)
        finally:
            self._progress.close()
        if outcome.error:
            return outcome.error_code
        if outcome.passed:
            return 0
        failed = [one for one in outcome.scenarios if not one.passed]
        refused = failed and all(one.refused for one in failed)
        return InputError.exit_code if refused else FAILED

    def run_finished(self, outcome: RunOutcome) -> None:
        """Write the files and show what is in them."""
        outcome = replace(outcome, environment=self._environment)
        shown = write_markdown(outcome)
        write_whole(self.folder / MARKDOWN, shown)
        append_step_summary(shown, os.environ)
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


PODS_PER_NODE = 8
PRIORITIES = 3
USAGE = 1.0
"""Demand over capacity: none of it is left over, so that some pods find no node."""
SEED = 1
"""Of the pods' sizes in `stowage try`."""

NEXT = """\
next:
  stowage page --context NAME     your own cluster in a browser, live and read-only
  stowage whatif --context NAME   would the pods that wait in your own cluster fit?
  stowage init                    a first scenario, a test and a workflow of your own
  stowage run                     every scenario that comes with Stowage"""


class TrySession(RunSession):
    """A run of one scenario, shown as nodes before and after."""

    def __init__(self, results: Path, minor: str | None = None) -> None:
        super().__init__(results, None, None, minor)
        self._minor = minor

    def try_out(self, nodes: int, *, keep_cluster: bool) -> int:
        """Install what is missing, run on so many nodes, show, and return the exit code."""
        install_needed(*TOOLS[Backend.KWOK_BINARY], minor=self._minor)
        spec = InstanceSpec(SEED, nodes, PODS_PER_NODE, PRIORITIES, USAGE)
        drawn = generate(spec)
        scenario = Scenario(
            name=f"try/{nodes}-nodes",
            description=f"{nodes} nodes, and pods that request all that they have.",
            nodes=(drawn.node_pool,),
            workload=drawn.workload,
            instance=spec,
            optimizer=OptimizerSettings(harm="any"),
            steps=imply_steps(drawn.workload),
        )
        return self.run(RunRequest((scenario,), keep_cluster=keep_cluster, minor=self._minor))

    def show(self, outcome: RunOutcome) -> None:
        """Print nodes before and after, where the page is, and what to do next."""
        if not outcome.passed:
            super().show(outcome)
            return
        (one,) = outcome.scenarios
        page = write_page(one, self.folder)
        Console().print("\n", draw_comparison(one), sep="")
        typer.echo(f"\npage: {page.resolve().as_uri()}\n\n{NEXT}")
