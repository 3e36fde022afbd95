"""A cluster is asked about: by lists alone, and the answer is right."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from amounts import asked, size
from kubernetes import client

from stowage_testbed.base.errors import StowageError
from stowage_testbed.base.wait import HANG_S, wait_until
from stowage_testbed.cluster import KwokBinaryCluster, NodePool, create_nodes
from stowage_testbed.observe.audit import AuditMark, find_audit_end, read_audit_entries
from stowage_testbed.scenario.manifests import make_controller
from stowage_testbed.scenario.model import Workload
from stowage_testbed.simulate import NO_PROTECTION, find_profile
from stowage_testbed.whatif.asking import PlanLimits, findings_of
from stowage_testbed.whatif.details import tables
from stowage_testbed.whatif.findings import Findings, Move
from stowage_testbed.whatif.inventory import Inventory
from stowage_testbed.whatif.reading import read_api, read_files
from stowage_testbed.whatif.release import Release
from stowage_testbed.whatif.screen import screen

pytestmark = pytest.mark.e2e

GIB = 2**30
NAMESPACE = "default"
PLACED = {"a": "node-0", "b": "node-1"}
"""Figure 1 of the paper: two pods of 2 GiB stand where one of 3 GiB fits nowhere."""

ANY_POD = PlanLimits(release=Release(arguments=NO_PROTECTION))
"""Of two pods that stand alone in their workloads, one may move all the same."""

READER = "reader"
NEEDED = {"": ["nodes", "pods"], "policy": ["poddisruptionbudgets"]}


@pytest.fixture(scope="module")
def cluster() -> Iterator[KwokBinaryCluster]:
    made = KwokBinaryCluster(f"whatif-{uuid4().hex[:6]}")
    made.up()
    try:
        with closing(made.api_client()) as api:
            _figure_1(api)
            _reader(api)
        yield made
    finally:
        made.down()


Ask = Callable[[Inventory, PlanLimits], Findings]


@pytest.fixture(scope="module")
def ask() -> Ask:
    profile = find_profile("deterministic")
    return lambda inventory, limits: findings_of(inventory, profile, limits)


def _figure_1(api: client.ApiClient) -> None:
    """Bind the first two pods by hand; no scheduler is there."""
    create_nodes(api, [NodePool("node", 2, size(4000, 4 * GIB))])
    core: Any = client.CoreV1Api(api)
    apps: Any = client.AppsV1Api(api)
    for name, memory in (("a", 2), ("b", 2), ("c", 3)):
        workload = Workload(name, 1, asked(100, memory * GIB))
        apps.create_namespaced_replica_set(
            NAMESPACE, make_controller(workload, NAMESPACE)
        )
    pods = wait_until(
        "three pods",
        lambda: core.list_namespaced_pod(NAMESPACE).items,
        lambda found: len(found) == 3,
        timeout_s=60,
    )
    for pod in pods:
        node = PLACED.get(pod.metadata.owner_references[0].name)
        if node:
            core.create_namespaced_pod_binding(
                pod.metadata.name,
                NAMESPACE,
                {
                    "metadata": {"name": pod.metadata.name},
                    "target": {"kind": "Node", "name": node, "apiVersion": "v1"},
                },
                _preload_content=False,
            )
    wait_until(
        "two running pods",
        lambda: [one.status.phase for one in core.list_namespaced_pod(NAMESPACE).items],
        lambda phases: phases.count("Running") == 2,
        timeout_s=60,
    )


def _reader(api: client.ApiClient) -> None:
    """Make an account that may list what is needed, and nothing else."""
    core: Any = client.CoreV1Api(api)
    rights: Any = client.RbacAuthorizationV1Api(api)
    for name in (READER, "stranger"):
        core.create_namespaced_service_account(NAMESPACE, {"metadata": {"name": name}})
    rights.create_cluster_role(
        {
            "metadata": {"name": READER},
            "rules": [
                {"apiGroups": [group], "resources": resources, "verbs": ["get", "list"]}
                for group, resources in NEEDED.items()
            ],
        }
    )
    rights.create_cluster_role_binding(
        {
            "metadata": {"name": READER},
            "roleRef": {
                "apiGroup": "rbac.authorization.k8s.io",
                "kind": "ClusterRole",
                "name": READER,
            },
            "subjects": [
                {"kind": "ServiceAccount", "name": READER, "namespace": NAMESPACE}
            ],
        }
    )


def client_of(cluster: KwokBinaryCluster, account: str) -> client.ApiClient:
    """Return a client that has the account's token and nothing else."""
    with closing(cluster.api_client()) as admin:
        core: Any = client.CoreV1Api(admin)
        token = core.create_namespaced_service_account_token(
            account, NAMESPACE, {"spec": {"expirationSeconds": 600}}
        ).status.token
        settings: Any = client.Configuration()
        settings.host = admin.configuration.host
        settings.ssl_ca_cert = admin.configuration.ssl_ca_cert
        settings.verify_ssl = admin.configuration.verify_ssl
    settings.api_key = {"authorization": f"Bearer {token}"}
    return client.ApiClient(settings)


@pytest.fixture(scope="module")
def inventory(cluster: KwokBinaryCluster) -> Inventory:
    with closing(client_of(cluster, READER)) as api:
        return read_api(api)


def test_one_move_makes_room_and_the_answer_says_so(
    inventory: Inventory, ask: Ask
) -> None:
    """It is the question of the platform engineer."""
    found = ask(inventory, ANY_POD)

    # The third node is the one that a release would run on.
    assert (found.nodes, found.running, found.pending) == (3, 2, 1)
    assert (found.fits_now, found.fits_after) == (0, 1)
    assert found.proved
    (move,) = found.moves
    assert isinstance(move, Move)
    assert {move.from_node, move.to_node} == {"node-0", "node-1"}
    assert found.evictions == ()
    assert found.left == ()
    assert " 0 of the waiting pods fit as things are." in screen(found)
    assert next(table.title for table in tables(found)) == "Moves that make room"


def test_without_moves_the_pod_stays_and_the_answer_says_why(
    inventory: Inventory, ask: Ask
) -> None:
    """A limit on moves is respected."""
    found = ask(inventory, replace(ANY_POD, max_moves=0))
    assert (found.fits_after, found.moves) == (0, ())
    (left,) = found.left
    assert (left.workload, left.pods) == ("default/c", 1)


def test_by_default_who_stands_alone_stays_and_the_answer_names_the_rule(
    inventory: Inventory, ask: Ask
) -> None:
    """An installation would not move it either; a budget or a value would."""
    found = ask(inventory, PlanLimits())

    assert (found.fits_after, found.moves) == (0, ())
    (left,) = found.left
    assert (left.workload, left.rules) == ("default/c", ("singleton",))
    assert [(one.rule, one.pods) for one in found.kept] == [("singleton", 2)]
    assert "Running pods that stay where they are" in [
        table.title for table in tables(found)
    ]


def test_the_two_running_pods_need_one_node_only(
    inventory: Inventory, ask: Ask
) -> None:
    """How many nodes could be emptied, and which."""
    found = ask(inventory, ANY_POD)
    assert (found.used_nodes, found.needed_nodes, found.fewest_nodes) == (2, 1, 1)
    assert len(found.emptied) == 1
    assert found.consolidating_moves == 1


def test_only_lists_are_asked_of_the_api_server(cluster: KwokBinaryCluster) -> None:
    """It is pointed at production: nothing may ever be written."""
    with closing(client_of(cluster, READER)) as api:
        before = find_audit_end(cluster.audit_log)
        read_api(api)
        after = find_audit_end(cluster.audit_log)
        core: Any = client.CoreV1Api(api)
        with pytest.raises(client.ApiException, match="Forbidden"):
            core.delete_node("node-0")
    user = f"system:serviceaccount:{NAMESPACE}:{READER}"

    def verbs(start: AuditMark) -> set[str]:
        entries = read_audit_entries(cluster.audit_log, start)
        return {entry.verb for entry in entries if entry.user == user}

    wait_until(
        "the refused deletion in the log",
        lambda: verbs(after),
        lambda seen: "delete" in seen,
        timeout_s=HANG_S,
    )
    assert verbs(before) <= {"list", "delete"}


def test_what_may_not_be_read_is_said_to_be_not_judged(
    inventory: Inventory, ask: Ask
) -> None:
    """The account sees no volumes; the answer must not pretend that there are none."""
    found = ask(inventory, ANY_POD)
    assert any("volumes" in one.reason for one in found.not_judged)
    assert not any("disruption budgets" in one.reason for one in found.not_judged)


def test_a_user_who_may_list_nothing_learns_what_is_needed(
    cluster: KwokBinaryCluster,
) -> None:
    """The way out is a ClusterRole, by name."""
    with (
        closing(client_of(cluster, "stranger")) as api,
        pytest.raises(StowageError, match="ClusterRole with the verb list"),
    ):
        read_api(api)


def test_a_file_gives_the_same_answer(
    cluster: KwokBinaryCluster, ask: Ask, inventory: Inventory, tmp_path: Path
) -> None:
    """Whoever may not be given access can still be helped."""
    with closing(cluster.api_client()) as api:
        core: Any = client.CoreV1Api(api)
        items = [
            {"kind": kind, "apiVersion": "v1", **one}
            for kind, listed in (
                ("Node", core.list_node(_preload_content=False)),
                ("Pod", core.list_pod_for_all_namespaces(_preload_content=False)),
            )
            for one in json.loads(listed.data)["items"]
        ]
    file = tmp_path / "all.json"
    file.write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": items}))

    from_file = ask(read_files([file]), ANY_POD)
    from_cluster = ask(inventory, ANY_POD)

    # A file that lists no budgets says nothing of them; the API server has none.
    assert "list no disruption budgets" in from_file.proof.about
    proof = from_cluster.proof
    assert replace(from_file, not_judged=(), proof=proof) == replace(
        from_cluster, not_judged=()
    )
