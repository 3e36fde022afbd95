"""What the page knows: every change becomes a message, and time can be wound back."""

from __future__ import annotations

import base64
from array import array
from typing import Any

import msgspec
import pytest

from stowage_testbed.amounts.resources import Resources
from stowage_testbed.cluster.devices import Devices, make_classes, make_pool
from stowage_testbed.live.history import GONE, MOST_STEPS, NO_POD, PlanLog, see_plan
from stowage_testbed.live.state import ENDING, NO_CLAIMS, NOT_TRIED, PLACED, WAITING, LiveState
from stowage_testbed.observe.change import Change, JsonObject, ReceiptClock, Verb
from stowage_testbed.observe.source import NODES, PODS, RESOURCE_CLAIMS, RESOURCE_SLICES
from stowage_testbed.observe.watches import Arrival, Interrupted, Relisted, Resumed

CLOCK = ReceiptClock()
POD_COLUMNS = len(NO_POD)
POD_ENTRY = 2 + POD_COLUMNS  # Milliseconds and row come first
NO_ROOM = "0/2 nodes are available: 2 Insufficient cpu."


def a_node(name: str, zone: str = "a", *, ready: str = "True") -> JsonObject:
    labels = {"topology.kubernetes.io/zone": zone}
    return {
        "metadata": {"name": name, "uid": f"uid-{name}", "labels": labels},
        "spec": {},
        "status": {
            "allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"},
            "conditions": [{"type": "Ready", "status": ready}],
        },
    }


def a_pod(name: str, node: str = "", **parts: Any) -> JsonObject:
    metadata = {"name": name, "namespace": "default", "uid": f"uid-{name}"}
    requests = {"requests": {"cpu": "500m", "memory": "1Gi"}}
    return {
        "metadata": {**metadata, **parts.get("metadata", {})},
        "spec": {"nodeName": node, "containers": [{"resources": requests}]},
        "status": {"phase": "Pending", **parts.get("status", {})},
    }


def unschedulable(message: str = NO_ROOM) -> dict[str, Any]:
    condition = {"type": "PodScheduled", "status": "False", "message": message}
    return {"conditions": [condition]}


def changed(kind: str, body: JsonObject, verb: Verb = Verb.MODIFIED) -> Change:
    return Change(kind, verb, CLOCK.now(), body)


def begun(*bodies: tuple[str, JsonObject], most: int = 1000) -> LiveState:
    state = LiveState(most)
    state.begin(changed(kind, body, Verb.LISTED) for kind, body in bodies)
    return state


def told(state: LiveState, *changes: Arrival) -> dict[str, Any]:
    for change in changes:
        state.take(change)
    message = state.flush(100)
    assert message is not None
    return message


def numbers(packed: object) -> array[int]:
    return array("i", base64.b64decode(str(packed)))


def pods_of(columns: array[int], names: list[str]) -> dict[str, tuple[int, ...]]:
    rows = [tuple(columns[at : at + POD_COLUMNS]) for at in range(0, len(columns), POD_COLUMNS)]
    return {name: row for name, row in zip(names, rows, strict=False) if row[2] != GONE}


def replayed(state: LiveState) -> tuple[array[int], list[int]]:
    past = state.past()
    pods, log = numbers(past["pods"]), numbers(past["podLog"])
    moments = []
    for at in range(0, len(log), POD_ENTRY):
        moment, row, *columns = log[at : at + POD_ENTRY]
        moments.append(moment)
        while len(pods) < (row + 1) * POD_COLUMNS:
            pods.extend(NO_POD)
        pods[row * POD_COLUMNS : (row + 1) * POD_COLUMNS] = array("i", columns)
    return pods, moments


def test_what_is_there_is_told_by_numbers_and_their_names() -> None:
    """A browser draws the page from one answer, and an empty bar says why it is."""
    closed = {**a_node("n2", ready="Unknown"), "spec": {"unschedulable": True}}
    state = begun(
        ("Node", a_node("n1")),
        ("Node", closed),
        ("Pod", a_pod("web-1", "n1")),
        ("Pod", a_pod("web-2", status=unschedulable())),
        ("Pod", a_pod("web-3")),
        ("Pod", a_pod("web-9", "n1", status={"phase": "Succeeded"})),
    )

    now = state.now()

    size = Resources(cpu=4000, memory=8 * 2**30, pods=110)
    assert now["nodeNames"] == ["n1", "n2"]
    assert now["nodeKinds"] == [("a", (), size, ""), ("a", ("not ready", "cordoned"), size, "")]
    asks = Resources(cpu=500, memory=2**30, pods=1)
    assert now["podKinds"] == [("web", 0, asks, "default")]
    assert now["whys"] == [NO_ROOM, NOT_TRIED]
    assert pods_of(numbers(now["pods"]), now["podNames"]) == {
        "default/web-1": (0, 0, PLACED, -1),
        "default/web-2": (0, -1, WAITING, 0),
        "default/web-3": (0, -1, WAITING, 1),
    }


def test_a_message_says_only_what_is_new() -> None:
    """A hundred changes a second, many of nothing on the page, are no snapshots."""
    state = begun(("Node", a_node("n1")), ("Pod", a_pod("web-1")))

    first = told(state, changed("Pod", a_pod("web-1", "n1")))
    second = told(state, changed("Pod", a_pod("db-1"), Verb.ADDED))
    state.take(changed("Pod", a_pod("web-1", "n1", status={"phase": "Running"})))
    state.take(changed("Node", a_node("n1")))

    assert first == {"seq": 1, "t": 100, "pods": [0, 0, 0, PLACED, -1], "lost": ""}
    assert second["names"] == [(1, "default/db-1")]
    assert [kind[0] for kind in second["podKinds"]] == ["db"]
    assert "whys" not in second, "what a pod not yet tried waits for was named before"
    assert second["pods"] == [1, 1, -1, WAITING, 0]
    assert state.flush(300) is None


def test_a_pod_that_ends_keeps_its_room_until_it_has_gone() -> None:
    """The scheduler counts it too; a pod may be seen before its node."""
    state = begun(("Pod", a_pod("web-1", "n1")))
    assert numbers(state.now()["nodes"]).tolist() == [-1]
    assert told(state, changed("Node", a_node("n1"), Verb.ADDED))["nodes"] == [0, 0]

    since = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
    ending = a_pod("web-1", "n1", metadata=since)
    for verb, wanted in ((Verb.MODIFIED, ENDING), (Verb.DELETED, GONE)):
        message = told(state, changed("Pod", ending, verb))
        assert message["pods"] == [0, 0, 0, wanted, -1]


def test_the_log_leads_from_the_beginning_to_now() -> None:
    """Else the slider would show what never was; messages tell a reader the rest."""
    pods = (("Pod", a_pod("web-1")), ("Pod", a_pod("web-2")))
    state = begun(("Node", a_node("n1")), *pods)
    told(state, changed("Pod", a_pod("web-1", "n1")))
    nodes_seen, pods_seen = state.now()["entries"]
    state.take(changed("Pod", a_pod("web-2"), Verb.DELETED))
    state.take(changed("Pod", a_pod("web-3", "n1"), Verb.ADDED))
    state.flush(250)

    columns, moments = replayed(state)

    assert columns == numbers(state.now()["pods"])
    assert moments == [100, 250, 250]
    log = numbers(state.past((nodes_seen, pods_seen))["podLog"])
    assert log[::POD_ENTRY].tolist() == [100]


def test_the_log_has_a_limit_and_stays_whole() -> None:
    """A page that is open for a week must not take the machine's memory."""
    state = begun(("Node", a_node("n1")), ("Pod", a_pod("stays", "n1")), most=40)

    for step in range(200):
        state.take(changed("Pod", a_pod(f"job-{step}", "n1"), Verb.ADDED))
        state.flush(10 * step + 1)
        state.take(changed("Pod", a_pod(f"job-{step}", "n1"), Verb.DELETED))
        state.flush(10 * step + 2)

    pods, moments = replayed(state)
    now = state.now()
    assert len(moments) <= 40
    assert moments[0] > state.past()["since"] > 1500
    assert pods == numbers(now["pods"])[: len(pods)]
    assert len(now["podNames"]) < 60, "rows of pods long gone are used again"
    assert list(pods_of(pods, now["podNames"])) == ["default/stays"]


def test_a_lost_watch_is_told_and_what_a_new_list_lacks_has_gone() -> None:
    """A picture that stands still must not look like a cluster that does."""
    nodes = (("Node", a_node("n1")), ("Node", a_node("n2")))
    pods = (("Pod", a_pod("web-1", "n1")), ("Pod", a_pod("web-2", "n2")))
    state = begun(*nodes, *pods)
    for arrival, lost in (
        (Interrupted(PODS, CLOCK.now(), "refused"), "Pod: refused"),
        (Resumed(PODS, CLOCK.now()), ""),
    ):
        state.take(arrival)
        assert told(state)["lost"] == lost
    assert state.flush(300) is None

    state.take(Relisted(NODES, (changed("Node", a_node("n1")),), CLOCK.now()))
    state.take(Relisted(PODS, (changed("Pod", a_pod("web-1", "n1")),), CLOCK.now()))
    message = told(state)
    assert (message["nodes"], message["pods"]) == ([1, -1], [1, 0, 1, GONE, -1])


def test_too_many_messages_lose_their_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """A large cluster says the same with other numbers a thousand times a minute."""
    monkeypatch.setattr("stowage_testbed.live.state.MOST_WORDS", 2)
    said = [f"0/9 nodes are available: {number} full." for number in range(5)]
    pods = [a_pod(text, status=unschedulable(text)) for text in said]
    state = begun(*(("Pod", pod) for pod in pods))
    last = "n/n nodes are available: n full."
    assert state.now()["whys"] == [*said[:2], last]


T4 = Devices(model="T4", count=2, memory="16Gi")


def devices(taint: str = "") -> list[tuple[str, JsonObject]]:
    """Return the class and the slice of two GPUs of n1, the second with a taint if one is named."""
    (device_class,), (made,) = make_classes([T4]), make_pool("n1", [T4])
    if taint:
        made["spec"]["devices"][1]["taints"] = [{"key": taint, "effect": "NoExecute"}]
    named = [("ResourceSlice", made), ("DeviceClass", device_class)]
    return [(kind, {**one, "metadata": {"name": one["metadata"]["name"], "uid": kind}}) for kind, one in named]


def a_claim(*devices: str, user: str = "", **amounts: str) -> JsonObject:
    result = {"driver": T4.driver, "pool": "n1", "consumedCapacity": amounts}
    allocation = {"allocation": {"devices": {"results": [{**result, "device": one} for one in devices]}}}
    status = {**allocation, "reservedFor": [{"uid": user}]} if user else {}
    return {"metadata": {"name": "gpu", "namespace": "default", "uid": "uid-gpu"}, "status": status}


def asking(name: str, node: str = "") -> JsonObject:
    body = a_pod(name, node)
    return {**body, "spec": {**body["spec"], "resourceClaims": [{"name": "gpu", "resourceClaimName": "gpu"}]}}


def test_devices_of_nodes_and_what_pods_hold_of_them_are_told() -> None:
    """A class is a resource that can be chosen, and of each pod the page names its devices."""
    pods = (("Pod", asking("a", "n1")), ("Pod", a_pod("b", "n1")))
    state = begun(*pods, ("Node", a_node("n1")), *devices(), ("ResourceClaim", a_claim("gpu-0", user="uid-a")))

    now = state.now()

    ((_, _, room, wrong),) = now["nodeKinds"]
    assert (room["devices/t4"], wrong) == (2000, "")
    rows = pods_of(numbers(now["pods"]), now["podNames"])
    held = {name: now["podKinds"][kind][2]["devices/t4"] for name, (kind, *_) in rows.items()}
    assert held == {"default/a": 1000, "default/b": 0}
    assert {name: row[3] >= 0 and now["whys"][row[3]] for name, row in rows.items()} == {
        "default/a": "gpu-0",
        "default/b": False,
    }


def test_a_pod_whose_claims_are_not_made_says_so() -> None:
    """The scheduler leaves it alone and says nothing, for example if there is no such template."""
    body = a_pod("a")
    spec = {**body["spec"], "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "one"}]}
    state = begun(("Pod", {**body, "spec": spec}))
    assert state.now()["whys"] == [NO_CLAIMS]

    status = {**body["status"], "resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": "gpu"}]}
    assert told(state, changed("Pod", {**body, "spec": spec, "status": status}))["whys"] == [NOT_TRIED]


def test_news_of_devices_change_the_nodes_and_pods_that_they_are_about() -> None:
    """A claim comes by another watch than its pod, and before or after it."""
    state = begun(("Node", a_node("n1")), *devices(), ("ResourceClaim", a_claim()), ("Pod", asking("a", "n1")))
    assert state.now()["whys"] == []

    message = told(state, changed("ResourceClaim", a_claim("gpu-0", "gpu-1", user="uid-a", memory="8Gi")))
    assert message["whys"] == ["gpu-0 (memory 8Gi), gpu-1 (memory 8Gi)"]
    assert "nodes" not in message
    message = told(state, *(changed(*one) for one in devices("sick")))
    assert [kind[3] for kind in message["nodeKinds"]] == ["1 device has a taint"]
    assert "pods" not in message
    message = told(state, Relisted(RESOURCE_SLICES, (), CLOCK.now()))
    assert [(kind[2]["devices/t4"], kind[3]) for kind in message["nodeKinds"]] == [(0, "")]
    # It holds nothing that is there, as before it had the claim, but the claim stays allocated.
    assert message["pods"] == [0, 0, 0, PLACED, 0]
    message = told(state, Relisted(RESOURCE_CLAIMS, (), CLOCK.now()))
    assert message["pods"][-1] == -1


def owned(kind: str, name: str) -> list[dict[str, Any]]:
    return [{"kind": kind, "name": name, "controller": True}]


@pytest.mark.parametrize(
    ("workload", "metadata"),
    [
        ("web", {"name": "web-7"}),
        ("shop", {"name": "x", "labels": {"app": "shop"}}),
        ("w", {"name": "x", "labels": {"stowage.dev/workload": "w", "app": "a"}}),
        (
            "web",
            {
                "name": "web-5d4f8c7b9d-x2x4z",
                "labels": {"pod-template-hash": "5d4f8c7b9d"},
                "ownerReferences": owned("ReplicaSet", "web-5d4f8c7b9d"),
            },
        ),
        ("canary", {"name": "x", "ownerReferences": owned("Rollout", "canary")}),
    ],
)
def test_replicas_share_one_workload(workload: str, metadata: dict[str, Any]) -> None:
    """Colours are of workloads, and a release of a Deployment is no new one."""
    state = begun(("Pod", a_pod("x", metadata=metadata)))
    assert state.now()["podKinds"][0][0] == workload


def a_plan(name: str = "one", phase: str = "Proposed", moves: int = 1) -> dict[str, Any]:
    move = {"podUID": "u", "fromNode": "a", "toNode": "b"}
    return {
        "metadata": {"name": name, "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {"executionMode": "DryRun", "trigger": "Manual"},
        "status": {
            "phase": phase,
            "optimal": True,
            "tiers": [{"priority": 5, "placedBefore": 1, "placed": 2, "upperBound": 3}],
            "moves": [{**move, "pod": f"d/p{n}"} for n in range(moves)],
            "protected": [{"reason": "singleton", "pods": 2, "example": "d/x"}],
        },
    }


def versions(log: PlanLog) -> list[tuple[int, str, Any]]:
    return [(at, name, msgspec.json.decode(raw)) for at, name, raw in log.past()]


def test_a_plan_is_told_with_its_bounds_and_what_was_protected() -> None:
    """Whoever approves it wants to know how good it is, and whom it spares."""
    seen = see_plan(a_plan(moves=MOST_STEPS + 10))

    assert seen["tiers"] == [[5, 1, 2, 3, ""]]
    assert seen["moves"][0] == ["d/p0", "a", "b", "", ""]
    assert seen["protected"] == [["singleton", 2, "d/x", ""]]
    # Nobody reads more, and every change of it is sent again.
    assert seen["counts"] == [0, MOST_STEPS + 10, 0]
    assert len(seen["moves"]) == MOST_STEPS
    new = see_plan({"metadata": {"name": "new"}})
    assert (new["phase"], new["mode"], new["moves"]) == ("", "DryRun", [])


def test_steps_that_are_carried_out_together_are_told_as_such() -> None:
    """Half of a gang would be of no use, and whoever approves its moves approves all of them."""
    gang = {"pod": "d/g0", "unit": "gang/d/g"}
    plan = {"metadata": {"name": "one"}, "status": {what: [gang] for what in ("moves", "placements", "evictions")}}

    seen = see_plan(plan)

    assert [seen[what][0][-1] for what in ("moves", "placements", "evictions")] == ["gang/d/g"] * 3


def test_each_version_of_a_plan_is_kept_with_its_moment() -> None:
    """The slider shows it as it was; a new list may lack it."""
    log, proposed = PlanLog(), see_plan(a_plan())
    log.take("one", proposed)
    log.take("two", see_plan(a_plan("two")))
    log.take_new(10)
    log.take("one", proposed)
    assert log.take_new(15) == [], "objects change in ways that the page does not show"
    log.take("one", see_plan(a_plan(phase="Executing")))
    log.take("two", None)
    log.take_new(20)
    log.keep_only(["two"])

    assert log.take_new(30) == [("one", msgspec.Raw(b"null"))]
    assert [(at, name, plan and plan["phase"]) for at, name, plan in versions(log)] == [
        (10, "one", "Proposed"), (10, "two", "Proposed"),
        (20, "one", "Executing"), (20, "two", None), (30, "one", None),
    ]  # fmt: skip
    assert log.now() == []


def test_old_versions_go_when_there_is_no_more_room() -> None:
    """The last one of each plan stays."""
    log = PlanLog(most_bytes=2000)
    log.take("other", see_plan(a_plan("other")))
    log.take_new(0)
    for step in range(1, 50):
        log.take("one", see_plan(a_plan(phase=f"step {step}")))
        log.take_new(step)

    kept = versions(log)
    assert len(kept) < 8
    assert kept[-1][2]["phase"] == "step 49"
    assert "other" in [name for _, name, _ in kept]
