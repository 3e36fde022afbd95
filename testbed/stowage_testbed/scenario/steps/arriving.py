"""Steps that create pods one by one, when they are to come."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal, Self

from stowage_testbed.declaration import setting
from stowage_testbed.scenario.arrivals.process import ArrivalProcess, Lifetime
from stowage_testbed.scenario.arrivals.recorded import RecordedReplay
from stowage_testbed.scenario.arrivals.recorded_making import make_recorded_replay
from stowage_testbed.scenario.arrivals.trace import TracedPod, make_replay
from stowage_testbed.scenario.arrivals.trace_file import TraceFile
from stowage_testbed.scenario.issues import DocumentIssue
from stowage_testbed.scenario.steps.action import Action, Deadline, Surroundings, show_count
from stowage_testbed.scenario.steps.demand import Demand

_LATEST = "; none may be later than {:g} s"


@dataclass(frozen=True, slots=True)
class Burst(Action):
    """Create pods like a workload's one by one, without a controller."""

    kind = "burst"
    deadline = Deadline("How late the last pod of a burst may be created.", "lateness", _LATEST)
    workload: Annotated[
        str, setting("The workload that says what the pods are like; it is not applied besides.", names="template")
    ]
    pods: Annotated[int, setting("How many.", minimum=1, maximum=100000)]
    arrival: Annotated[ArrivalProcess, setting("When each of them comes; without it all come at once.")] = field(
        default_factory=ArrivalProcess
    )
    lifetime: Annotated[Lifetime | None, setting("How long each of them runs; without it none is ever done.")] = None

    @classmethod
    def issues(cls, plain: Any) -> Iterator[DocumentIssue]:
        for key, found in (("arrival", ArrivalProcess.issues), ("lifetime", Lifetime.issues)):
            for issue in found(plain[key]) if key in plain else ():
                yield replace(issue, place=(key, *issue.place))

    def in_words(self) -> str:
        pods = f"{show_count(self.pods, 'pod')} like {self.workload}'s without controller"
        text = f"create {pods}, {self.arrival.in_words()}"
        if self.lifetime is None:
            return f"{text}; they run until they are deleted"
        return f"{text}; each runs {self.lifetime.in_words()} and is done"

    def ask(self, demand: Demand) -> None:
        demand.add([self.workload] * self.pods)

    @property
    def brings(self) -> tuple[str, ...]:
        return (self.workload,)


@dataclass(frozen=True, slots=True)
class Replay(Action):
    """Have happen what a trace says, when it happened.

    What `stowage record` wrote brings pods, controllers, scalings, ends and budgets; if
    the scenario has no nodes, it brings those too. Rows of CSV or JSON bring pods.
    """

    kind = "replay"
    deadline = Deadline("How late the last thing of a trace may be done.", "lateness", _LATEST)
    file: Annotated[str, setting("A .jsonl.gz, .jsonl, .csv or .json file, relative to this one.", minLength=1)]
    pods: tuple[TracedPod, ...] = ()
    recorded: RecordedReplay | None = None
    speed: Annotated[
        float, setting("How many times as fast as it was recorded.", exclusiveMinimum=0, maximum=1000000)
    ] = 1.0
    limit: Annotated[int | None, setting("Only so many pods, the first ones; without it all.", minimum=1)] = None

    placed: Annotated[
        Literal["by-the-scheduler", "as-recorded"],
        setting(
            "Who gives those pods a node that had one when recording began; as "
            "recorded they are bound past the scheduler."
        ),
    ] = "by-the-scheduler"

    @classmethod
    def read(cls, plain: Any, surroundings: Surroundings) -> Self:
        speed, limit = float(plain.get("speed", 1)), plain.get("limit")
        found = surroundings.traces.get(plain["file"], TraceFile())
        pods = make_replay(found.rows, speed=speed, limit=limit)
        recorded = None
        if found.recorded is not None:
            recorded = make_recorded_replay(found.recorded, speed=speed, limit=limit)
            if surroundings.has_nodes:
                recorded = recorded.without_nodes()
        placed = plain.get("placed", "by-the-scheduler")
        if placed == "as-recorded" and (recorded is None or surroundings.has_nodes):
            raise ValueError(
                "pods can be placed as recorded where the nodes are the trace's; leave "
                "out `placed`, or the scenario's own `nodes`"
            )
        return cls(plain["file"], pods, recorded, speed, limit, placed)

    @property
    def owners(self) -> list[str]:
        """The owners of its pods, each once."""
        if self.recorded is not None:
            return list(self.recorded.left)
        return list(dict.fromkeys(pod.owner for pod in self.pods))

    def in_words(self) -> str:
        speed = "" if self.speed == 1 else f", {self.speed:g} times as fast as recorded"
        if self.recorded is not None:
            return f"{self.recorded.in_words()} in {self.file}{speed}"
        owners = show_count(len(self.owners), "owner")
        last_s = self.pods[-1].at_s if self.pods else 0.0
        return (
            f"create {show_count(len(self.pods), 'pod')} of {owners} when they came in "
            f"{self.file}{speed}, the last after {last_s:g} s"
        )

    def ask(self, demand: Demand) -> None:
        demand.add(pod.owner for pod in self.pods)
        if self.recorded is not None:
            for name, count in self.recorded.left.items():
                demand.add([name] * count)

    @property
    def brings(self) -> Iterable[str]:
        return self.owners
