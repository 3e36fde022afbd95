"""What all benchmarks share: how much is measured, rounds that are resumed, ratios, and how a command ends."""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

import numpy as np
import typer

from stowage_testbed.base.errors import InputError, StowageError
from stowage_testbed.base.journal import RecordT, TaskJournal
from stowage_testbed.cluster.interruption import ending_cleanly
from stowage_testbed.compare.verdicts import student_interval
from stowage_testbed.text.figure import Figure
from stowage_testbed.toolchain import choose_minor, install_tools, tool_build
from stowage_testbed.toolchain.environment import DIGEST_LENGTH, machine, package_versions, source_digest

Say = Callable[[str], None]
T = TypeVar("T")

LEVEL = 0.05
"""Chance that an interval misses."""

FEWEST = 2
"""Rounds that an interval takes."""


def say(line: str) -> None:
    """Report a step on standard error; the table at the end goes to standard output."""
    typer.echo(line, err=True)


def run_command(act: Callable[[], str], tools: Sequence[str] = ()) -> None:
    """Print what a benchmark returns; whatever ends it, no cluster is left behind."""
    try:
        with ending_cleanly():
            if tools:
                install_tools(tools)
            typer.echo(act())
    except StowageError as problem:
        typer.echo(f"benchmark: {problem}", err=True)
        raise typer.Exit(problem.exit_code) from None


class ScopeName(StrEnum):
    """How much is measured."""

    SMOKE = "smoke"
    SHORT = "short"
    DEFAULT = "default"
    FULL = "full"


@dataclass(frozen=True, slots=True)
class Scope:
    """What a run covers; each benchmark adds what makes its own small or large."""

    name: str


ScopeT = TypeVar("ScopeT", bound=Scope)


def find_scope(scopes: Sequence[ScopeT], name: ScopeName) -> ScopeT:
    """Return the scope of that name."""
    for scope in scopes:
        if scope.name == name:
            return scope
    known = ", ".join(scope.name for scope in scopes)
    raise InputError(f"this benchmark has no scope {name}; choose one of {known}")


def build_of(*tools: str) -> str:
    """Return the builds of these programs, and a digest of the optimiser, its libraries and the machine.

    Rows of others are not mixed in.
    """
    facts = {"source": source_digest(), "machine": machine(), "packages": package_versions()}
    digest = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:DIGEST_LENGTH]
    return "-".join([*(tool_build(one, choose_minor()) for one in tools), digest])


class Rounds(TaskJournal[RecordT]):
    """Rows by task of one build, below ``<results>/<name>``: what is there is not measured again."""

    def measured(self, task: str, measure: Callable[[], Iterable[RecordT]]) -> tuple[RecordT, ...]:
        """Return the rows of a task, which are measured if they are not there."""
        if task not in self:
            self.add(task, tuple(measure()))
        return self.get(task)

    def rows(self) -> list[RecordT]:
        """Return everything that was measured with this build, in every scope."""
        return [row for task in self for row in self.get(task)]


def turned(arms: Sequence[T], number: int) -> list[T]:
    """Return the arms, each first in its turn: what runs first finds a cold machine."""
    start = number % len(arms)
    return [*arms[start:], *arms[:start]]


def paired_ratios(mine: Mapping[T, float], stock: Mapping[T, float]) -> list[float]:
    """Return the ratios of values, wherever both have one in a round."""
    return [value / stock[key] for key, value in mine.items() if key in stock]


def ratio_figure(name: str, ratios: Sequence[float], least: float | None, note: str = "") -> Figure:
    """Return the mean of ratios, with its interval as the spread from two rounds on.

    Whether the target is met is said only where the whole interval says it.
    """
    target = "" if least is None else f">= {least:g}"
    if not ratios:
        return Figure(name, None, "x", target, note="not measured")
    logarithms = np.log(np.asarray(ratios, dtype=np.float64))
    low = high = value = float(np.exp(logarithms.mean()))
    spread: tuple[float, ...] = ()
    if len(ratios) >= FEWEST:
        interval = student_interval(logarithms, 0.0, LEVEL)
        _, low, high = (float(np.exp(end)) for end in interval.ends)
        spread = low, high
    note = "; ".join(filter(None, ("mean of the rounds' ratios, and its 95 % interval", note)))
    met = None if least is None else True if low >= least else False if high < least else None
    if least is not None and met is None:
        note = f"{note}; these rounds cannot tell whether the target is met"
    return Figure(name, value, "x", target, met, len(ratios), spread, note)


def failing_figure(name: str, passed: Mapping[str, bool], *, target: str = "<= 0") -> Figure:
    """Return how many fail of what is judged; where nothing is, nothing is claimed."""
    failed = sorted(one for one, well in passed.items() if not well)
    value = float(len(failed)) if passed else None
    return Figure(
        name, value, "", target, not failed if passed and target else None, len(passed), note="; ".join(failed)
    )
