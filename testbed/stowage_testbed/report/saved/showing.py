"""A saved run on a terminal and as Markdown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stowage_testbed.report.saved.run import SavedRun
from stowage_testbed.report.saved.tables import run_tables
from stowage_testbed.text.markdown import escaped, markdown_text
from stowage_testbed.text.terminal import plain, terminal_text

MARKDOWN = "report.md"
"""The file in a run's bundle."""

COMMIT_SHOWN = 12


def run_markdown(run: SavedRun) -> str:
    """Return the verdict, and the tables under it."""
    heading = f"# Stowage: {escaped(_verdict(run))}\n\n"
    said = "".join(f"- {escaped(line)}\n" for line in _about(run))
    return f"{heading}{said}\n{markdown_text(run_tables(run))}"


def run_screen(run: SavedRun) -> str:
    """Return the same for a terminal."""
    said = "\n".join(plain(line) for line in (*_about(run), _verdict(run)))
    tables = terminal_text(run_tables(run))
    return f"{tables}\n\n{said}" if tables else said


def _verdict(run: SavedRun) -> str:
    ran = [one for one in run.scenarios if not one.skipped]
    passed = sum(one.passed for one in ran)
    verdict = "passed" if run.passed else "FAILED"
    said = f"{verdict}, {passed} of {len(ran)} scenario runs passed"
    skipped = len(run.scenarios) - len(ran)
    return f"{said}, {skipped} skipped" if skipped else said


def _about(run: SavedRun) -> list[str]:
    took_s = sum(run.durations_s.values())
    lines = [f"run {run.run}, started {run.started}, {took_s:.1f} s"]
    source: Mapping[str, Any] = run.environment.get("source") or {}
    if source.get("commit"):
        changed = ", with changes" if source.get("modified") else ""
        lines.append(f"commit {str(source['commit'])[:COMMIT_SHOWN]}{changed}")
    if run.error:
        lines.append(f"the run ended early: {run.error}")
    return lines
