"""A cluster is asked about: by lists alone, and the answer is right."""

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import figure_1_cluster
import pytest
from kubernetes import client
from msgspec import structs
from release_environment import ReleaseEnvironment

from stowage_testbed.base.errors import StowageError
from stowage_testbed.base.wait import wait_until
from stowage_testbed.cluster import Cluster
from stowage_testbed.observe.audit import find_audit_end, read_audit_entries
from stowage_testbed.simulate.instance import NO_PROTECTION
from stowage_testbed.whatif.answer import findings_of
from stowage_testbed.whatif.findings import Findings, Move
from stowage_testbed.whatif.inventory import Inventory
from stowage_testbed.whatif.reading import read_api, read_files
from stowage_testbed.whatif.settings import PlanLimits, Release

pytestmark = pytest.mark.e2e

READER = """
apiVersion: v1
kind: ServiceAccount
metadata: {name: reader}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: reader}
rules:
  - {apiGroups: [""], resources: [nodes, pods], verbs: [get, list]}
  - {apiGroups: [policy], resources: [poddisruptionbudgets], verbs: [get, list]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: reader}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: reader}
subjects: [{kind: ServiceAccount, name: reader, namespace: NAMESPACE}]
"""


@pytest.fixture
def figure_1(
    stowage_cluster: Cluster, stowage_nodes: Callable[..., list[str]], stowage_arm: Callable[[str], object]
) -> Iterator[ReleaseEnvironment]:
    """Return figure 1 of the paper as the stock scheduler places it."""
    stowage_arm("default")
    stowage_nodes("{count: 2, cpu: 4, memory: 4G}")
    with stowage_cluster.api_client() as api:
        environment = ReleaseEnvironment(stowage_cluster, api)
        figure_1_cluster.fill(environment)
        yield environment


def client_of(environment: ReleaseEnvironment, account: str, namespace: str) -> client.ApiClient:
    """Return a client that has the account's token and nothing else."""
    token = environment.core.create_namespaced_service_account_token(
        account, namespace, {"spec": {"expirationSeconds": 600}}
    ).status.token
    known: Any = environment.client.configuration
    settings: Any = client.Configuration()
    settings.host, settings.ssl_ca_cert = known.host, known.ssl_ca_cert
    settings.api_key = {"authorization": f"Bearer {token}"}
    return client.ApiClient(settings)


def ask(inventory: Inventory) -> Findings:
    """Ask where pods that stand alone in their workloads may move all the same."""
    limits = PlanLimits(release=Release(arguments=NO_PROTECTION))
    return findings_of(inventory, limits)


def test_lists_alone_tell_which_move_makes_room(
    figure_1: ReleaseEnvironment, stowage_apply: Callable[..., object], stowage_namespace: str, tmp_path: Path
) -> None:
    """It is pointed at production: nothing may ever be written.

    Whoever may not be given access can still be helped, by a file.
    """
    stowage_apply(READER.replace("NAMESPACE", stowage_namespace))
    with closing(client_of(figure_1, "reader", stowage_namespace)) as api:
        before = find_audit_end(figure_1.cluster.audit_log)
        inventory = read_api(api)
        with pytest.raises(client.ApiException, match="Forbidden"):
            client.CoreV1Api(api).delete_node("node-0")

    found = ask(inventory)
    # On a third node is a third pod, the stock scheduler, which no plan moves.
    assert (found.nodes, found.running, found.pending) == (3, 3, 1)
    assert (found.fits_now, found.fits_after, found.proved) == (0, 1, True)
    (move,) = found.moves
    assert isinstance(move, Move)
    assert {move.from_node, move.to_node} == {"node-0", "node-1"}
    assert (found.used_nodes, found.needed_nodes, found.fewest_nodes) == (3, 2, 2)
    # The account sees no volumes: there may be some.
    assert any("volumes" in one.reason for one in found.not_judged)
    assert not any("disruption budgets" in one.reason for one in found.not_judged)

    user = f"system:serviceaccount:{stowage_namespace}:reader"
    verbs = wait_until(
        "the refused deletion in the log",
        lambda: {entry.verb for entry in read_audit_entries(figure_1.cluster.audit_log, before) if entry.user == user},
        lambda seen: "delete" in seen,
    )
    assert verbs <= {"list", "delete"}

    core = figure_1.core
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
    # Fake nodes do not say which scheduler would judge them.
    from_file = ask(replace(read_files([file]), version=inventory.version))
    # A file that lists no budgets says nothing of them; the API server has none.
    assert "list no disruption budgets" in from_file.proof.about
    assert structs.replace(from_file, not_judged=(), proof=found.proof) == structs.replace(found, not_judged=())


def test_a_user_who_may_list_nothing_learns_what_is_needed(figure_1: ReleaseEnvironment) -> None:
    """The way out is a ClusterRole, by name."""
    with (
        closing(client_of(figure_1, "default", "default")) as api,
        pytest.raises(StowageError, match="ClusterRole with the verb list"),
    ):
        read_api(api)
