"""A trace with one arm: what acts in the windows, among them the descheduler, and what came of it."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from heapq import merge
from operator import itemgetter
from pathlib import Path
from typing import Any

import msgspec

from stowage_testbed.amounts.resources import Resources
from stowage_testbed.observe.change import JsonObject
from stowage_testbed.observe.pod import requests_of
from stowage_testbed.optimizer_service.service import running_service
from stowage_testbed.policyday.policy import Arm, Policy, Window, configured
from stowage_testbed.simulate.process import LineProcess
from stowage_testbed.simulate.virtual_time import Event, PassedTime, World, make_events, make_node
from stowage_testbed.toolchain import tool_path
from stowage_testbed.trace.format import NodeSeen
from stowage_testbed.trace.reading import Trace

TOOL = "descheduler-pass"

THRESHOLDS = {"cpu": 20, "memory": 20, "pods": 20}
"""In percent; those of upstream's own example. Nodes below all of them are emptied."""

LIMIT_S = 600.0


class _Done(msgspec.Struct):
    kept: dict[str, int]


class _Answer(msgspec.Struct):
    evict: str = ""
    done: _Done | None = None


class Descheduler(LineProcess):
    """The descheduler's plugin with thresholds in percent by resource, for as long as the ``with`` block lasts."""

    def __init__(self, thresholds: Mapping[str, float]) -> None:
        arguments = msgspec.json.encode({"thresholds": dict(thresholds)}).decode()
        super().__init__((tool_path(TOOL), "--arguments", arguments))

    def run_pass(self, state: Mapping[str, Any], evict: Callable[[str], str]) -> dict[str, int]:
        """Return how many pods it left, by reason; ``evict`` evicts ``namespace/name``, or says what refuses that."""
        line: Mapping[str, Any] = state
        while True:
            said = self.ask(msgspec.json.encode(line), "the descheduler", LIMIT_S, "try a smaller trace")
            answer = msgspec.json.decode(said, type=_Answer)
            if answer.done:
                return answer.done.kept
            line = {"refused": evict(answer.evict)}


INTERVAL_S = 300.0
"""How often the descheduler looks at the cluster, by its own default."""

KILLED_AFTER_S = (0.01, 5.0, 60.0, 600.0)
"""Since a window opened: before its plan is made, while pods move, and later on."""

SCALING_S = 120.0
"""Between two looks of the autoscaler at the cluster."""

IDLE_S = 600.0
"""How long a node must have been empty before it goes; the cluster autoscaler's default."""

EVICTED = "evicted"
State = Mapping[str, Any]
"""``nodes``, ``pods`` and ``disruptionBudgets``, as Kubernetes' objects, and ``coolingDown``, the pods that were moved
within the cool-down, as namespace/name."""

Prove = Callable[[State], int | None]
"""Returns how many nodes of a state could be emptied at most; ``None`` if not known."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How arms replay a trace: by a profile without the optimiser, and with an autoscaler or without."""

    profile: Path
    autoscales: bool = True
    minor: str | None = None


@dataclass(slots=True)
class WindowOutcome:
    """What happened in a window; ``left``: the node of each moved pod; ``gone``: those the autoscaler removed."""

    window: Window
    used_before: frozenset[str] = frozenset()
    used_after: frozenset[str] = frozenset()
    most_emptied: int | None = None
    left: list[str] = field(default_factory=list)
    gone: set[str] = field(default_factory=set)
    refused: Counter[str] = field(default_factory=Counter)
    runs: int = 0

    @property
    def emptied(self) -> frozenset[str]:
        """The nodes that were emptied by moving pods, also those that went and came back."""
        return (self.used_before & set(self.left)) - (self.used_after - self.gone)


@dataclass(frozen=True, slots=True)
class Trial:
    """What came of a trace with one arm."""

    arm: Arm
    passed: PassedTime
    windows: tuple[WindowOutcome, ...]


def nodes_in_use(state: State) -> frozenset[str]:
    """Return the nodes that hold a pod which would not go with its node."""
    return frozenset(
        pod["spec"]["nodeName"]
        for pod in state["pods"]
        if pod["spec"].get("nodeName")
        and all(owner["kind"] != "DaemonSet" for owner in pod["metadata"].get("ownerReferences") or ())
    )


def run_arm(
    arm: Arm,
    day: Trace,
    policy: Policy,
    windows: Iterable[Window],
    settings: Settings,
    *,
    prove: Prove = lambda _: None,
) -> Trial:
    """Replay a trace with an arm that acts in the windows.

    A `StowageError` if the scheduler, the descheduler or the optimiser failed.
    """
    with ExitStack() as stack:
        arguments: dict[str, Any] = {}
        if arm.plans:
            service = stack.enter_context(running_service())
            # Nothing but the policy has plans made, the same ones every time.
            arguments = {"socket": str(service.socket), "trigger": "Manual", "deterministic": True}
        config = stack.enter_context(configured(arm, settings.profile, arguments))
        world = stack.enter_context(World(config, minor=settings.minor))
        descheduler = stack.enter_context(Descheduler(THRESHOLDS)) if arm.deschedules else None
        outcomes = tuple(map(WindowOutcome, windows))
        actions = _Actions(world, prove, descheduler, Autoscaler(day) if settings.autoscales else None)
        agenda = actions.agenda(outcomes, day.lines[-1].t, is_killed=arm.is_killed)

        # All arms have the same clock.
        world.happen({"at": 0.0, "settings": {"began": day.header.began, "coolDown": policy.cool_down_s}})
        if arm.plans:
            world.happen({"at": 0.0, "policy": policy.automatic()})
        events: Iterator[_Due] = ((event["at"], partial(world.happen, event)) for event in make_events(day))
        # What happens at the very time of what is due comes first.
        for _, act in merge(events, agenda, key=itemgetter(0)):
            act()
        passed = world.end()

        began = datetime.fromisoformat(day.header.began)
        # What the policy's own status says of its windows, and which nodes the moved pods left.
        for said in world.remarks("window"):
            start_s = (datetime.fromisoformat(said["start"]) - began).total_seconds()
            for one in outcomes:
                if one.window.start_s == start_s:
                    one.runs += said["phase"] != "Missed"
                    for refused in said.get("refused") or ():
                        one.refused[refused["reason"]] += refused["count"]
        for one in outcomes:
            start_s, end_s = one.window
            moved = (life for life in passed.lives if life.how == EVICTED and life.ended_s is not None)
            one.left += [life.node for life in moved if start_s <= (life.ended_s or 0.0) <= end_s]
        return Trial(arm, passed, outcomes)


class Autoscaler:
    """Removes nodes that stay empty, and brings them back when pods are pending: as they were at first, untainted."""

    def __init__(self, day: Trace) -> None:
        self._nodes: dict[str, JsonObject] = {
            line.name: make_node(line) for line in reversed(day.lines) if isinstance(line, NodeSeen)
        }
        self._idle_since: dict[str, float] = {}
        self._gone: list[str] = []

    def look(self, at_s: float, state: State) -> Iterator[Event]:
        """Yield what happens to the nodes."""
        pending_milli = sum(requests_of(pod)["cpu"] for pod in state["pods"] if not pod["spec"].get("nodeName"))
        used = nodes_in_use(state)
        for name in used:
            self._idle_since.pop(name, None)
        if pending_milli:
            # Until all could have room, the last that went first.
            while self._gone and pending_milli > 0:
                node = self._nodes[self._gone.pop()]
                pending_milli -= Resources.of_list(node["status"]["allocatable"])["cpu"]
                yield {"at": at_s, "node": node}
            return
        for name in sorted({one["metadata"]["name"] for one in state["nodes"]} - used):
            since_s = self._idle_since.setdefault(name, at_s)
            if at_s - since_s >= IDLE_S and name in self._nodes:
                del self._idle_since[name]
                self._gone.append(name)
                yield {"at": at_s, "nodeGone": name}


_Due = tuple[float, Callable[[], None]]


@dataclass(slots=True)
class _Actions:
    """What is done to the world."""

    world: World
    prove: Prove
    descheduler: Descheduler | None
    scaler: Autoscaler | None
    opened: WindowOutcome | None = None

    def agenda(self, windows: tuple[WindowOutcome, ...], length_s: float, *, is_killed: bool) -> list[_Due]:
        """Return what is to be done when, in the order of the times."""
        due: list[_Due] = []
        for one in windows:
            at_s, end_s = one.window
            due.append((at_s, partial(self.open, at_s, one)))
            for kill_s in (at_s + after_s for after_s in KILLED_AFTER_S if is_killed):
                if kill_s < end_s:
                    due.append((kill_s, partial(self.world.happen, {"at": kill_s, "restart": True})))
            while self.descheduler and at_s < end_s:
                due.append((at_s, partial(self.run_pass, at_s, one, self.descheduler)))
                at_s += INTERVAL_S
            due.append((end_s, partial(self.close, end_s, one)))
        if self.scaler:
            times_s = [turn * SCALING_S for turn in range(1, int(length_s // SCALING_S) + 1)]
            due += [(at_s, partial(self.scale, at_s, self.scaler)) for at_s in times_s]
        return sorted(due, key=itemgetter(0))

    def open(self, at_s: float, outcome: WindowOutcome) -> None:
        self.opened = outcome
        state = self.world.tell_state(at_s)
        outcome.used_before = nodes_in_use(state)
        outcome.most_emptied = self.prove(state)

    def run_pass(self, at_s: float, outcome: WindowOutcome, descheduler: Descheduler) -> None:
        state = self.world.tell_state(at_s)
        outcome.refused.update(descheduler.run_pass(state, partial(self.world.evict, at_s)))

    def close(self, at_s: float, outcome: WindowOutcome) -> None:
        self.opened = None
        outcome.used_after = nodes_in_use(self.world.tell_state(at_s))

    def scale(self, at_s: float, scaler: Autoscaler) -> None:
        for event in scaler.look(at_s, self.world.tell_state(at_s)):
            if self.opened and "nodeGone" in event:
                self.opened.gone.add(event["nodeGone"])
            self.world.happen(event)
