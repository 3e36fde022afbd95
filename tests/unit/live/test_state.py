"""What the page knows: every change becomes a message, and time can be wound back."""

from __future__ import annotations

import base64
from array import array
from typing import Any

import pytest

from stowage_testbed.live.history import POD_COLUMNS, POD_ENTRY
from stowage_testbed.live.reading import ENDING, GONE, NOT_TRIED, PLACED, WAITING
from stowage_testbed.live.state import LiveState
from stowage_testbed.observe.change import Change, JsonObject, Verb
from stowage_testbed.observe.receipt import ReceiptClock

CLOCK = ReceiptClock()
NO_ROOM = "0/2 nodes are available: 2 Insufficient cpu."


def a_node(name: str, zone: str = "a", *, ready: str = "True") -> JsonObject:
    return {
        "metadata": {
            "name": name,
            "uid": f"uid-{name}",
            "labels": {"topology.kubernetes.io/zone": zone},
        },
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


def numbers(packed: object) -> array[int]:
    return array("i", base64.b64decode(str(packed)))


def pods_of(columns: array[int], names: list[str]) -> dict[str, tuple[int, ...]]:
    """Return the columns of each pod that has not gone."""
    rows = [
        tuple(columns[at : at + POD_COLUMNS])
        for at in range(0, len(columns), POD_COLUMNS)
    ]
    return {name: row for name, row in zip(names, rows, strict=False) if row[2] != GONE}


def replayed(state: LiveState) -> tuple[array[int], list[int]]:
    """Return the pods at the end of the log, and its moments."""
    past = state.past()
    pods, log = numbers(past["pods"]), numbers(past["podLog"])
    moments = []
    for at in range(0, len(log), POD_ENTRY):
        moment, row, *columns = log[at : at + POD_ENTRY]
        moments.append(moment)
        while len(pods) < (row + 1) * POD_COLUMNS:
            pods.extend((-1, -1, GONE, -1))
        pods[row * POD_COLUMNS : (row + 1) * POD_COLUMNS] = array("i", columns)
    return pods, moments


def test_what_is_there_is_told_by_numbers_and_their_names() -> None:
    """A browser that opens the page draws it from one answer."""
    state = begun(
        ("Node", a_node("n1")),
        ("Pod", a_pod("web-1", "n1")),
        ("Pod", a_pod("web-2", status=unschedulable())),
    )

    now = state.now()

    assert now["nodeNames"] == ["n1"]
    assert now["nodeKinds"] == [
        ("a", (), {"cpu": 4000, "memory": 8 * 2**30, "pods": 110})
    ]
    assert now["podKinds"] == [
        ("web", 0, {"cpu": 500, "memory": 2**30, "pods": 1}, "default")
    ]
    assert now["whys"] == [NO_ROOM]
    assert pods_of(numbers(now["pods"]), now["podNames"]) == {
        "default/web-1": (0, 0, PLACED, -1),
        "default/web-2": (0, -1, WAITING, 0),
    }


def test_a_message_says_only_what_is_new() -> None:
    """A hundred changes a second must not become a hundred snapshots."""
    state = begun(("Node", a_node("n1")), ("Pod", a_pod("web-1")))

    state.take(changed("Pod", a_pod("web-1", "n1")))
    first = state.flush(100)
    state.take(changed("Pod", a_pod("db-1"), Verb.ADDED))
    second = state.flush(200)

    assert first == {"seq": 1, "t": 100, "pods": [0, 0, 0, PLACED, -1], "lost": ""}
    assert second is not None
    assert second["names"] == [(1, "default/db-1")]
    assert [kind[0] for kind in second["podKinds"]] == ["db"]
    assert "whys" not in second, "what a pod not yet tried waits for was named before"
    assert second["pods"] == [1, 1, -1, WAITING, 0]


def test_nothing_is_said_of_what_did_not_change() -> None:
    """A pod's status changes often in ways that the page does not show."""
    state = begun(("Node", a_node("n1")), ("Pod", a_pod("web-1", "n1")))

    state.take(changed("Pod", a_pod("web-1", "n1", status={"phase": "Running"})))
    state.take(changed("Node", a_node("n1")))

    assert state.flush(100) is None


def test_a_pod_that_ends_keeps_its_room_until_it_has_gone() -> None:
    """The scheduler counts it too."""
    state = begun(("Node", a_node("n1")), ("Pod", a_pod("web-1", "n1")))

    ending = a_pod(
        "web-1", "n1", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"}
    )
    state.take(changed("Pod", ending))
    first = state.flush(100)
    state.take(changed("Pod", ending, Verb.DELETED))
    second = state.flush(200)

    assert first is not None
    assert first["pods"] == [0, 0, 0, ENDING, -1]
    assert second is not None
    assert second["pods"] == [0, 0, 0, GONE, -1]


def test_a_finished_pod_takes_no_room() -> None:
    """Its containers have ended for good."""
    state = begun(
        ("Node", a_node("n1")), ("Pod", a_pod("j", "n1", status={"phase": "Succeeded"}))
    )

    assert state.now()["podNames"] == []


def test_the_log_leads_from_the_beginning_to_now() -> None:
    """Else the slider would show what never was."""
    state = begun(
        ("Node", a_node("n1")), ("Pod", a_pod("web-1")), ("Pod", a_pod("web-2"))
    )
    state.take(changed("Pod", a_pod("web-1", "n1")))
    state.flush(100)
    state.take(changed("Pod", a_pod("web-2"), Verb.DELETED))
    state.take(changed("Pod", a_pod("web-3", "n1"), Verb.ADDED))
    state.flush(250)

    pods, moments = replayed(state)

    assert pods == numbers(state.now()["pods"])
    assert moments == [100, 250, 250]


def test_the_past_ends_where_a_reader_began() -> None:
    """What came after it has got as messages."""
    state = begun(("Node", a_node("n1")), ("Pod", a_pod("web-1")))
    state.take(changed("Pod", a_pod("web-1", "n1")))
    state.flush(100)
    nodes, pods = state.now()["entries"]
    state.take(changed("Pod", a_pod("web-1", "n1"), Verb.DELETED))
    state.flush(200)

    log = numbers(state.past((nodes, pods))["podLog"])

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
    assert moments[0] > state.history.since_ms > 1500
    assert pods == numbers(now["pods"])[: len(pods)]
    assert len(now["podNames"]) < 60, "rows of pods long gone are used again"
    assert list(pods_of(pods, now["podNames"])) == ["default/stays"]


def test_what_a_new_list_lacks_has_gone() -> None:
    """A watch that was away too long has not told of it."""
    state = begun(
        ("Node", a_node("n1")),
        ("Node", a_node("n2")),
        ("Pod", a_pod("web-1", "n1")),
        ("Pod", a_pod("web-2", "n2")),
    )

    state.drop_missing("Node", [changed("Node", a_node("n1"))])
    state.drop_missing("Pod", [changed("Pod", a_pod("web-1", "n1"))])
    message = state.flush(100)

    assert message is not None
    assert message["nodes"] == [1, -1]
    assert message["pods"] == [1, 0, 1, GONE, -1]


def test_a_pod_may_be_seen_before_its_node() -> None:
    """Two watches tell of them, and either may be first."""
    state = begun(("Pod", a_pod("web-1", "n1")))

    assert numbers(state.now()["nodes"]).tolist() == [-1]
    state.take(changed("Node", a_node("n1"), Verb.ADDED))
    message = state.flush(100)

    assert message is not None
    assert message["nodes"] == [0, 0]


def test_a_node_says_what_keeps_pods_away() -> None:
    """An empty bar has to say why it is empty."""
    node = a_node("n1", ready="Unknown")
    state = begun(("Node", {**node, "spec": {"unschedulable": True}}))

    assert state.now()["nodeKinds"][0][1] == ("not ready", "cordoned")


def test_a_lost_watch_is_told_and_so_is_its_return() -> None:
    """A picture that stands still must not look like a cluster that does."""
    state = begun(("Node", a_node("n1")))

    state.lose("Pod", "connection refused")
    lost = state.flush(100)
    state.lose("Pod", "")
    regained = state.flush(200)

    assert lost is not None
    assert lost["lost"] == "Pod: connection refused"
    assert regained is not None
    assert regained["lost"] == ""
    assert state.flush(300) is None


def test_a_pod_that_no_scheduler_tried_says_so() -> None:
    """It waits for another reason than one that fits nowhere."""
    state = begun(("Pod", a_pod("web-1")))

    assert state.now()["whys"] == [NOT_TRIED]


def test_messages_beyond_measure_lose_their_numbers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A large cluster says the same with other numbers a thousand times a minute."""
    monkeypatch.setattr("stowage_testbed.live.state.MOST_WORDS", 2)
    pods = [
        a_pod(f"web-{n}", status=unschedulable(f"0/9 nodes are available: {n} full."))
        for n in range(5)
    ]

    state = begun(*(("Pod", pod) for pod in pods))

    assert state.now()["whys"] == [
        "0/9 nodes are available: 0 full.",
        "0/9 nodes are available: 1 full.",
        "n/n nodes are available: n full.",
    ]


@pytest.mark.parametrize(
    ("metadata", "workload"),
    [
        ({"name": "web-7"}, "web"),
        ({"name": "x", "labels": {"app": "shop"}}, "shop"),
        ({"name": "x", "labels": {"stowage.dev/workload": "w", "app": "a"}}, "w"),
        (
            {
                "name": "web-5d4f8c7b9d-x2x4z",
                "labels": {"pod-template-hash": "5d4f8c7b9d"},
                "ownerReferences": [
                    {"kind": "ReplicaSet", "name": "web-5d4f8c7b9d", "controller": True}
                ],
            },
            "web",
        ),
        (
            {
                "name": "x",
                "ownerReferences": [
                    {"kind": "Rollout", "name": "canary", "controller": True}
                ],
            },
            "canary",
        ),
    ],
)
def test_replicas_share_the_name_of_what_brings_them(
    metadata: dict[str, Any], workload: str
) -> None:
    """Colours are of workloads, and a release of a Deployment is no new one."""
    state = begun(("Pod", a_pod("x", metadata=metadata)))

    assert state.now()["podKinds"][0][0] == workload
