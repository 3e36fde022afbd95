"""From what watches tell to lines."""

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from stowage_testbed.api.kinds import Kind
from stowage_testbed.observe.change import NS_PER_S, Change, Receipt, Verb
from stowage_testbed.observe.source import DEPLOYMENTS, JOBS, NODES, PODS
from stowage_testbed.observe.watches import Arrival, Interrupted, Relisted, Resumed
from stowage_testbed.scenario.check import find_differences
from stowage_testbed.trace import format as trace
from stowage_testbed.trace.recording import HOLD_S, LONGEST_HOLD_S, Recording
from stowage_testbed.trace.reducing import reduce_object

Body = dict[str, Any]
RECORDINGS = yaml.safe_load(Path(__file__).with_name("recordings.yaml").read_text("utf-8"))
CASES: dict[str, Body] = RECORDINGS["cases"]
GROUPS = {"Deployment": "apps/v1", "ReplicaSet": "apps/v1", "Job": "batch/v1",
          "PriorityClass": "scheduling.k8s.io/v1", "Pod": "v1", "Node": "v1",
          "Namespace": "v1", "PersistentVolumeClaim": "v1", "ResourceClaim": "resource.k8s.io/v1"}  # fmt: skip
KINDS = {
    one.key: one
    for one in (Kind(version, name, f"{name.lower()}s", True, frozenset(), True) for name, version in GROUPS.items())
}


def at(seconds: float) -> Receipt:
    return Receipt(int(seconds * NS_PER_S), int(seconds * NS_PER_S))


def begin(lines: list[trace.Line], *there: Change, of: Iterable[str] = ()) -> Recording:
    """Return a recording of some namespaces that writes into a list."""
    recording = Recording(at(0), KINDS, lines.append, tuple(of))
    recording.begin(there)
    return recording


def record(
    *arrivals: Arrival, there: Iterable[Change] = (), of: Iterable[str] = (), to: list[trace.Line] | None = None
) -> list[trace.Line]:
    """Return what is recorded, but for templates."""
    lines = [] if to is None else to
    recording = begin(lines, *there, of=of)
    for one in arrivals:
        recording.take(one)
    recording.finish()
    return [line for line in lines if not isinstance(line, trace.Template)]


def when(lines: Iterable[trace.Line]) -> str:
    return ", ".join(f"{type(line).__name__} {line.t:g}" for line in lines)


def change(verb: Verb, seconds: float, body: Body, of: str = "Pod") -> Change:
    return Change(of, verb, at(seconds), body)


listed, added = partial(change, Verb.LISTED), partial(change, Verb.ADDED)


def pod(name: str = "p", *, uid: str = "1", **metadata: Any) -> Body:
    named = {"name": name, "uid": uid, "namespace": "ns", "labels": {"app": "a"}}
    spec = {"containers": [{"name": "m"}]}
    status = {"phase": "Pending"}
    return {"metadata": {**named, **metadata}, "spec": spec, "status": status}


def controller(**metadata: Any) -> Body:
    named = {"uid": "web", "name": "web", "namespace": "ns"}
    template = {"metadata": {}, "spec": {"containers": [{"name": "m"}]}}
    return {"metadata": {**named, **metadata}, "spec": {"template": template}}


def node(name: str = "n") -> Body:
    status = {"capacity": {"cpu": "4"}}
    return {"metadata": {"uid": name, "name": name}, "spec": {}, "status": status}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_of_what_watches_tell_that_is_recorded_which_matters(case: Body) -> None:
    """It is what a replay does again, each once."""
    changes = [Change(kind, Verb(verb), at(seconds), body) for seconds, verb, kind, body in case["told"]]
    there = [one for one in changes if one.verb is Verb.LISTED]
    later = [one for one in changes if one.verb is not Verb.LISTED]
    written: list[trace.Line] = []
    lines = record(*later, there=there, of=case.get("namespaces", ()), to=written)

    found = msgspec.to_builtins(lines)
    assert case.get("lacks", "hunter2") not in str(found)
    if "template" in case:
        templates = [line for line in written if isinstance(line, trace.Template)]
        made = msgspec.to_builtins(templates[0].template)
        assert list(find_differences(case["template"], made)) == []
    assert [one["do"] for one in found] == [one["do"] for one in case["lines"]]
    for one, line in zip(case["lines"], found, strict=True):
        assert list(find_differences(one, line)) == []


@pytest.mark.parametrize(("status", "target", "how"), RECORDINGS["ends"])
def test_it_is_told_how_a_pod_ended(status: Body, target: str, how: trace.How) -> None:
    """By what is known of it when it goes, for replays do some of it again."""
    condition = {"type": "DisruptionTarget", "status": "True", "reason": target}
    conditions = [condition] if target else []
    running = {**pod(), "status": {"phase": "Running"}}
    last = {**pod(), "status": {**status, "conditions": conditions}}
    *_, end = record(added(1, running), change(Verb.DELETED, 5, last))
    assert end == trace.PodEnded(t=5, namespace="ns", name="p", how=how, ran_s=4)


@pytest.mark.parametrize(("of", "owner", "recorded"), RECORDINGS["controllers"])
def test_what_a_recorded_controller_makes_is_left_to_it(of: str, owner: str, recorded: bool) -> None:
    """It would come twice; but nobody replays CronJobs and custom kinds."""
    references = [{"kind": owner, "name": "o", "controller": True}]
    body = controller(ownerReferences=references)
    assert bool(record(added(1, body, of))) is recorded


def test_equal_pods_have_one_template_and_it_comes_first() -> None:
    """Also where a later line turns out to belong before."""
    lines: list[trace.Line] = []
    recording = begin(lines)
    recording.take(added(5, pod("late")))
    recording.take(added(4, pod("early")))
    recording.finish()
    assert when(lines) == "Template 4, PodCame 4, PodCame 5"


@pytest.mark.parametrize(
    ("before", "too_early_s", "hold_s"),
    [([], HOLD_S - 0.1, HOLD_S), ([Interrupted(PODS, at(1), "gone")], HOLD_S, LONGEST_HOLD_S)],
    ids=["watched", "interrupted"],
)
def test_lines_wait_for_those_that_belong_before(before: list[Arrival], too_early_s: float, hold_s: float) -> None:
    """Watches take turns, and news of one that is back are older than the others'."""
    lines: list[trace.Line] = []
    recording = begin(lines)
    for one in (*before, added(2, node(), "Node")):
        recording.take(one)
    recording.release(at(2 + too_early_s))
    assert lines == []
    recording.release(at(2 + hold_s))
    assert when(lines) == "NodeSeen 2"


@pytest.mark.parametrize("ahead_s", [0, 3600])
def test_pods_that_came_while_a_watch_was_behind_have_their_own_time(ahead_s: int) -> None:
    """All of them would come at once else; whatever the server's clock shows."""

    def created(name: str, seconds: float) -> Body:
        stamp = datetime.fromtimestamp(int(seconds) + ahead_s, UTC).isoformat()
        return pod(name, uid=name, creationTimestamp=stamp)

    prompt = [added(1 + n / 10, created(f"p{n}", 1 + n / 10)) for n in range(20)]
    late = [added(30, created(f"q{n}", 10 + n)) for n in range(5)]
    # A receipt is finer than a stamp, also where the stamp is a second older.
    older = added(30.2, created("r", 29.1))
    lines = record(*prompt, *late, older, added(-1, pod("before", uid="before")))
    came = {line.name: line.t for line in lines if isinstance(line, trace.PodCame)}
    assert (came["before"], came["p19"], came["r"]) == (0, 2.9, 30.2)
    assert [came[f"q{n}"] for n in range(5)] == pytest.approx([10.5, 11.5, 12.5, 13.5, 14.5], abs=0.1)


def test_after_a_new_list_what_it_lacks_has_ended() -> None:
    """Nobody saw how; and what is there still is nothing new."""
    stays, goes = pod("stays"), pod("goes", uid="2")
    there = [listed(0, stays), listed(0, goes), listed(0, node("a"), "Node"),
             listed(0, controller(), "Deployment")]  # fmt: skip
    now = listed(6, stays), listed(6, pod("new", uid="3"))
    lines = record(
        Interrupted(PODS, at(3), "expired"),
        Relisted(PODS, now, at(6)),
        Relisted(NODES, (listed(6, node("b"), "Node"),), at(6)),
        Relisted(DEPLOYMENTS, (), at(6)),
        Relisted(JOBS, (), at(6)),
        Resumed(PODS, at(6)),
        there=there,
    )
    *news, lost = [line for line in lines if line.t]
    assert [(type(line), getattr(line, "name", "")) for line in news] == [
        (trace.PodEnded, "goes"),
        (trace.PodCame, "new"),
        (trace.NodeGone, "a"),
        (trace.NodeSeen, "b"),
        (trace.ObjectGone, "web"),
    ]
    assert lost == trace.WatchLost(t=6, from_=3, why="expired")


def test_an_interruption_lasts_from_the_first_lost_watch_to_the_last_back() -> None:
    """But one of a moment is none: a watch that ends within a line just goes on."""
    lost = Interrupted(PODS, at(3), "cut"), Interrupted(NODES, at(2), "cut first")
    back = Resumed(NODES, at(5)), Resumed(PODS, at(8))
    assert record(*lost, *back) == [trace.WatchLost(t=8, from_=2, why="cut first")]
    assert record(Interrupted(PODS, at(3), "cut"), Resumed(PODS, at(3.2))) == []


OBJECTS: dict[str, dict[str, dict[str, Any]]] = yaml.safe_load(
    Path(__file__).with_name("reduced.yaml").read_text("utf-8")
)["objects"]
POD = OBJECTS["a pod keeps what placing it depends on"]["given"]


@pytest.mark.parametrize("what", OBJECTS)
def test_of_an_object_only_what_scheduling_depends_on_is_recorded(what: str) -> None:
    """No image, no command, no secret, and nothing that another server refuses."""
    recorded = reduce_object(OBJECTS[what]["given"])

    assert recorded == OBJECTS[what]["recorded"]
    assert "hunter2" not in json.dumps(recorded)
