"""Whether the settings of one step go together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from stowage_testbed.scenario.arrivals.process import (
    RANDOM_DISTRIBUTIONS,
    RANDOM_PROCESSES,
)
from stowage_testbed.scenario.document import Place
from stowage_testbed.scenario.draft import Draft
from stowage_testbed.scenario.issues import DocumentIssue
from stowage_testbed.scenario.steps.model import POD_CONDITIONS, Overload
from stowage_testbed.scenario.steps.references import place_of

Plain = Mapping[str, Any]


def draws_have_their_settings(draft: Draft) -> Iterator[DocumentIssue]:
    """A process has the numbers that it needs, and no others."""
    for place, _, plain in _of_kind(draft, "burst"):
        if "arrival" in plain:
            yield from _arrival(plain["arrival"], (*place, "arrival"))
        if "lifetime" in plain:
            kind, random = plain["lifetime"]["distribution"], RANDOM_DISTRIBUTIONS
            inner = (*place, "lifetime")
            yield from _gamma_and_seed(plain["lifetime"], kind, random, inner)


def waits_say_what_for(draft: Draft) -> Iterator[DocumentIssue]:
    """A wait for pods counts, one for an object names its phase."""
    for place, name, plain in _of_kind(draft, "wait"):
        if name == "phase":
            yield from _phase(plain, place)
        elif "is" in plain:
            message = f"only a wait for `phase` says what it is; remove it, or {name!r}"
            yield DocumentIssue((*place, "is"), message, of_key=True)
        if name == "gone" and "count" in plain:
            message = "what is gone cannot be counted; remove `count`"
            yield DocumentIssue((*place, "count"), message, of_key=True)


def usage_says_of_what(draft: Draft) -> Iterator[DocumentIssue]:
    """Usage is of CPU, of memory, or of both."""
    for place, _, plain in _of_kind(draft, "usage"):
        if not {"cpu", "memory"} & set(plain):
            message = f"{place[-1]} of what? write `cpu`, `memory` or both"
            yield DocumentIssue(place, message)


def scaled_workloads_have_one_controller(draft: Draft) -> Iterator[DocumentIssue]:
    """A number of pods is one controller's."""
    several = {w.name for w in draft.workload.values() if w.controllers > 1}
    for place, _, plain in _of_kind(draft, "scale"):
        if plain["workload"] in several:
            message = (
                f"{plain['workload']} has several controllers, and a number of pods is "
                "one controller's; scale a workload without `controllers`"
            )
            yield DocumentIssue((*place, "workload"), message)


def stable_states_fit_their_deadline(draft: Draft) -> Iterator[DocumentIssue]:
    """A state cannot be stable for longer than is waited for it."""
    for kind in ("wait", "check"):
        for place, _, plain in _of_kind(draft, kind):
            stable_s, timeout_s = plain.get("stable_s", 0), plain.get("timeout_s")
            if timeout_s is not None and stable_s >= timeout_s:
                message = f"stable_s {stable_s} is not below timeout_s {timeout_s}"
                yield DocumentIssue(
                    (*place, "stable_s"), f"{message}; change one of them"
                )


def overloads_can_be_run(draft: Draft) -> Iterator[DocumentIssue]:
    """The settings of an overload allow a run."""
    for step in draft.steps:
        if isinstance(step.action, Overload):
            try:
                step.action.settings  # noqa: B018 - it is made only to be judged
            except ValueError as error:
                yield DocumentIssue(place_of(step), str(error))


SETTING_RULES: tuple[Callable[[Draft], Iterator[DocumentIssue]], ...] = (
    draws_have_their_settings,
    waits_say_what_for,
    usage_says_of_what,
    scaled_workloads_have_one_controller,
    stable_states_fit_their_deadline,
    overloads_can_be_run,
)


def _of_kind(draft: Draft, kind: str) -> Iterator[tuple[Place, str, Plain]]:
    """Yield the steps of a kind: place, what a wait is for, what stands there."""
    for step in draft.steps:
        if step.kind == kind:
            plain = draft.valid["steps"][step.number - 1][kind]
            yield place_of(step), plain.get("for", ""), plain


def _arrival(plain: Plain, place: Place) -> Iterator[DocumentIssue]:
    process = plain["process"]
    if process == "at-once":
        if "rate_per_s" in plain:
            message = "pods that come at once have no rate; remove it"
            yield DocumentIssue((*place, "rate_per_s"), message, of_key=True)
    elif "rate_per_s" not in plain:
        message = f"process {process} needs `rate_per_s`, the pods a second; add it"
        yield DocumentIssue(place, message)
    yield from _gamma_and_seed(plain, process, RANDOM_PROCESSES, place)


def _gamma_and_seed(
    plain: Plain, kind: str, random: tuple[str, ...], place: Place
) -> Iterator[DocumentIssue]:
    if kind == "gamma" and "cv" not in plain:
        message = "gamma needs `cv`, the coefficient of variation; add it"
        yield DocumentIssue(place, message)
    if kind != "gamma" and "cv" in plain:
        message = f"{kind} has a fixed coefficient of variation; remove `cv`"
        yield DocumentIssue((*place, "cv"), message, of_key=True)
    if kind not in random and "seed" in plain:
        message = f"{kind} draws nothing; remove `seed`"
        yield DocumentIssue((*place, "seed"), message, of_key=True)


def _phase(plain: Plain, place: Place) -> Iterator[DocumentIssue]:
    if "is" not in plain:
        message = "a wait for a phase says which; add `is`, as in is: Available"
        yield DocumentIssue(place, message)
    if not isinstance(plain.get("of"), str):
        message = "a wait for a phase is of one object; write its name as `of`"
        yield DocumentIssue(place, message)
    if "count" in plain:
        message = f"only {', '.join(POD_CONDITIONS)} count pods; remove `count`"
        yield DocumentIssue((*place, "count"), message, of_key=True)
