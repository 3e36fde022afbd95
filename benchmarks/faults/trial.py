"""One try of a fault: what was observed, and what it shows."""

import json
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from http import HTTPStatus
from pathlib import Path
from typing import Any

from benchmarks.faults.processes import RESTARTED, hold_s
from stowage_testbed.helm import Release
from stowage_testbed.invariants import History, check
from stowage_testbed.invariants.history import SCHEDULER
from stowage_testbed.observe.audit import (
    BEGINNING,
    AuditEntry,
    AuditMark,
    AuditReader,
    find_audit_end,
    read_audit_entries,
)
from stowage_testbed.observe.change import NS_PER_S, Change, Receipt, Verb
from stowage_testbed.observe.state import State
from stowage_testbed.run.context import RunContext
from stowage_testbed.scenario.check import check_state
from stowage_testbed.scenario.model import Scenario
from stowage_testbed.scenario.steps.checking import observe_state

STAGES = ("Solving", "Proposed", "Executing")
"""Phases of a plan that lives, in their order."""

SHOWN = 10
"""Violations and failures that are shown in a line; the journal has all."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One try with the suite's ``seed``, of a solve of ``limit_s``.

    ``struck``: the moment came, so that there was a fault at all. ``violations``: what must always hold and did not.
    ``failures``: what was expected of the scenario and did not come, or what ended it. ``phases``: how the plans ended.
    ``writes``: evictions and bindings by the scheduler while the fault lasted; ``refusals``: its writes that the API
    server answered with 429 or an error of its own meanwhile. ``held_s``: how long the pod that came in the middle
    waited for a decision. ``resumed_s``: from the start of the scheduler's successor to the end of the plan that its
    predecessor left open, or to the first that it did for it. ``recovered_s``: from the fault to the last change of a
    pod. ``second_plan``: moves and evictions of a plan asked for at the end, if an optimum was proved before.
    """

    scenario: str
    fault: str
    number: int
    seed: int
    limit_s: float
    struck: bool
    violations: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()
    phases: tuple[str, ...] = ()
    evictions: int = 0
    writes: int = 0
    refusals: int = 0
    scheduler_restarts: int = 0
    optimizer_restarts: int = 0
    held_s: float | None = None
    resumed_s: float | None = None
    recovered_s: float | None = None
    second_plan: int | None = None
    took_s: float = 0.0
    facts: Mapping[str, float] = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        """Whether nothing was lost and everything came as expected."""
        return not self.violations and not self.failures and not self.second_plan

    def document(self) -> dict[str, Any]:
        """Return the try as JSON values."""
        return asdict(self)

    def in_words(self) -> str:
        """Return the try in a line."""
        name = f"{self.scenario} {self.number}"
        wrong = (*self.violations, *self.failures)
        if self.second_plan:
            wrong = (*wrong, f"a second plan disrupts {self.second_plan} pods")
        if wrong:
            more = len(wrong) - SHOWN
            shown = (*wrong[:SHOWN], *([f"and {more} more"] if more > 0 else ()))
            return f"{name}: FAILED: {'; '.join(shown)}"
        how = f"plans {', '.join(self.phases) or 'none'}" if self.struck else "missed"
        return f"{name}: {how}, {self.took_s:.1f} s"


_DOING = {("pods", "eviction"), ("pods", "binding")}
_OWN_ERROR = HTTPStatus.INTERNAL_SERVER_ERROR


@dataclass(slots=True)
class Seen:
    """The observations of a try; filled in while it runs.

    ``changes`` is everything the watches saw, first what was there; ``audit_start`` where the API server's audit log
    was then. Restarts are of the release's containers by then. ``error`` ended the try early.
    """

    scenario: Scenario
    release: Release
    fault: str
    began: Receipt
    restarts: Mapping[str, int]
    changes: list[Change]
    finished_plans: frozenset[str] = frozenset()
    audit_start: AuditMark = BEGINNING
    namespace: str = ""
    injected: Receipt | None = None
    ended: Receipt | None = None
    facts: dict[str, float] = field(default_factory=dict)
    error: str = ""
    second_plan: int | None = None


def restarts(state: State, namespace: str) -> Counter[str]:
    """Return how often each container of the release has been started again."""
    counts: Counter[str] = Counter()
    for body in state.bodies("Pod", namespace):
        for status in (body.get("status") or {}).get("containerStatuses") or ():
            counts[status["name"]] += status["restartCount"]
    return counts


def begin_try(run: RunContext, scenario: Scenario, release: Release, fault: str) -> Seen:
    """Begin to observe a try: what there is, and all that comes."""
    observer, namespace = run.observer, release.namespace
    return Seen(
        scenario=scenario,
        release=release,
        fault=fault,
        began=observer.clock.now(),
        restarts=observer.read(lambda state: restarts(state, namespace)),
        changes=observer.restart_journal(),
        finished_plans=observer.read(lambda state: frozenset(p.uid for p in state.plans() if p.finished)),
        audit_start=find_audit_end(run.cluster.audit_log),
    )


def end_try(run: RunContext, seen: Seen, number: int, seed: int, results: Path) -> Trial:
    """Return a try's result; of one that failed, keep the evidence in a folder."""
    observer, log = run.observer, run.cluster.audit_log
    seen.changes += observer.take_journal()
    entries = tuple(read_audit_entries(log, seen.audit_start))
    history, asked = History(tuple(seen.changes), entries), list(_asked(seen, entries))
    again = observer.read(lambda state: restarts(state, seen.release.namespace))
    again.subtract(seen.restarts)
    trial = Trial(
        scenario=seen.scenario.scenario_id,
        fault=seen.fault,
        limit_s=seen.scenario.optimizer.time_limit_s,
        number=number,
        seed=seed,
        struck=seen.injected is not None,
        violations=tuple(v.in_words() for v in check(history)),
        failures=(seen.error,) if seen.error else tuple(_failures(run, seen)),
        phases=_phases(seen),
        evictions=len(history.evictions),
        writes=sum((one.resource, one.subresource) in _DOING for one in asked),
        refusals=sum(one.code == HTTPStatus.TOO_MANY_REQUESTS or one.code >= _OWN_ERROR for one in asked),
        scheduler_restarts=again["scheduler"],
        optimizer_restarts=again["optimizer"],
        held_s=hold_s(seen.changes, seen.namespace),
        resumed_s=_resumed_s(seen),
        recovered_s=_recovered_s(seen),
        second_plan=seen.second_plan,
        took_s=observer.clock.now().seconds_since(seen.began),
        facts=dict(seen.facts),
    )
    if not trial.passed:
        keep_evidence(results, trial, seen, AuditReader(log, seen.audit_start).lines())
    return trial


def _failures(context: RunContext, seen: Seen) -> Iterator[str]:
    """Yield the expectations of the scenario that do not hold at the end."""
    if not seen.namespace:
        return
    namespace, scenario = seen.namespace, seen.scenario
    after = context.observer.read(lambda state: observe_state(state, scenario, namespace))
    # What a fault brings in beside the workload does not count.
    own = {workload.name for workload in scenario.workload}
    after = replace(after, pods=tuple(p for p in after.pods if p.workload in own))
    expect = scenario.expect
    for result in check_state(expect.end, after, expect.tolerance):
        if not result.passed:
            yield result.message


def _phases(seen: Seen) -> tuple[str, ...]:
    """Return the last phase of each plan of the try, in order of first sight."""
    phases: dict[str, str] = {}
    for change in seen.changes:
        if change.kind == "PackingPlan" and change.verb is not Verb.DELETED:
            phases[change.uid] = (change.body.get("status") or {}).get("phase", "")
    return tuple(phases[uid] for uid in phases if uid not in seen.finished_plans)


def _asked(seen: Seen, entries: Iterable[AuditEntry]) -> Iterator[AuditEntry]:
    """Yield the scheduler's requests that were answered while the fault lasted."""
    if seen.injected is None or seen.ended is None:
        return
    low, high = seen.injected.wall_ns, seen.ended.wall_ns
    for entry in entries:
        if low <= entry.stage_ns <= high and entry.user.endswith(SCHEDULER):
            yield entry


def _resumed_s(seen: Seen) -> float | None:
    """Return how long the scheduler's successor took to do something for the plan."""
    restarted_s = seen.facts.get(RESTARTED)
    if restarted_s is None:
        return None
    open_plans: set[str] = set()
    for change in seen.changes:
        if change.kind != "PackingPlan":
            continue
        at_s = change.receipt.wall_ns / NS_PER_S
        if at_s < restarted_s:
            is_open = (change.body.get("status") or {}).get("phase", "") in STAGES
            (open_plans.add if is_open else open_plans.discard)(change.uid)
        elif change.uid in open_plans:
            return at_s - restarted_s
    return None


def _recovered_s(seen: Seen) -> float | None:
    """Return the time from the fault to the last change of a pod."""
    if seen.injected is None or seen.error:
        return None
    receipts = (one.receipt for one in seen.changes if one.kind == "Pod" and one.namespace == seen.namespace)
    return max([seen.injected, *receipts]).seconds_since(seen.injected)


def keep_evidence(results: Path, trial: Trial, seen: Seen, audit_lines: Iterable[bytes]) -> None:
    """Write the evidence into a folder of its own."""
    name = f"{trial.scenario.replace('/', '-')}-{trial.seed}-{trial.number}"
    folder = results / "failed" / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "trial.json").write_text(json.dumps(trial.document(), indent=1), "utf-8")
    with (folder / "changes.jsonl").open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(change.record()) + "\n" for change in seen.changes)
    with (folder / "audit.jsonl").open("wb") as file:
        file.writelines(audit_lines)
    for container, log in seen.release.log_files().items():
        if log.is_file():
            shutil.copyfile(log, folder / f"{container}.log")
