"""The rules on what a run really keeps of itself."""

from __future__ import annotations

import json
from pathlib import Path

from silent_cluster import SilentCluster
from watch_server import WatchServer, a_pod, serving

from stowage_testbed.invariants.settled import COUNTED
from stowage_testbed.observe.observer import Observer
from stowage_testbed.observe.receipt import Receipt
from stowage_testbed.observe.settled import pods_gone
from stowage_testbed.observe.source import CORE_SOURCES, PODS, REPLICA_SETS
from stowage_testbed.run.context import RunContext
from stowage_testbed.run.invariant_checks import WATCHED, check_invariants
from stowage_testbed.run.listener import Listener
from stowage_testbed.run.recorder import RunRecorder

SOON_S = 10.0


def an_eviction(name: str, at: Receipt) -> str:
    record = {
        "stage": "ResponseComplete",
        "verb": "create",
        "user": {"username": "system:serviceaccount:stowage-system:stowage"},
        "objectRef": {
            "resource": "pods",
            "subresource": "eviction",
            "namespace": "ns",
            "name": name,
        },
        "responseStatus": {"code": 201},
        "stageTimestamp": at.wall_text(),
    }
    return json.dumps(record, separators=(",", ":")) + "\n"


def test_a_pod_that_was_there_before_the_run_is_watched_over(tmp_path: Path) -> None:
    """Whoever installs a scheduler cares most for what runs already."""
    server, cluster = WatchServer(), SilentCluster(tmp_path)
    server.items = [a_pod("old", node="n1")]
    with serving(server) as api, Observer(api, [PODS]) as observer:
        context = RunContext(cluster, api, observer, tag="test")
        recorder = RunRecorder(context, Listener())

        cluster.audit_log.write_text(an_eviction("old", observer.clock.now()))
        server.send("DELETED", a_pod("old", node="n1", version="2"))
        observer.wait_for("the eviction", pods_gone("ns"), timeout_s=SOON_S)
        checks = check_invariants(context, recorder)

    assert "planned-eviction" in {check.actual for check in checks}
    assert not any(check.passed for check in checks)


def test_pods_that_were_there_before_the_run_are_not_lost(tmp_path: Path) -> None:
    """Controllers are watched later than pods, and find all of theirs."""
    server, cluster = WatchServer(), SilentCluster(tmp_path)
    cluster.audit_log.write_text("")
    old = a_pod("old", node="n1")
    owner = {"kind": "ReplicaSet", "name": "rs", "uid": "uid-rs", "controller": True}
    old["metadata"]["ownerReferences"] = [owner]
    server.items = [old]
    with serving(server) as api, Observer(api, [PODS]) as observer:
        context = RunContext(cluster, api, observer, tag="test")
        recorder = RunRecorder(context, Listener())

        metadata = {"namespace": "ns", "name": "rs", "uid": "uid-rs"}
        server.items = [{"metadata": metadata, "spec": {"replicas": 1}}]
        observer.watch(REPLICA_SETS)
        (check,) = check_invariants(context, recorder)

    assert check.passed, check.message


def test_every_controller_whose_pods_are_counted_is_watched() -> None:
    """A rule about what nobody looks at never fails."""
    assert {source.kind for source in (*CORE_SOURCES, *WATCHED)} >= set(COUNTED)
