"""The chart by its default values, beside the stock scheduler: it harms nobody.

Further values only say where the processes are. Nothing else of the chart is changed.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from helm_environment import ACCOUNT, NAMESPACE, RELEASE, HelmEnvironment

from stowage_testbed.cluster.host_pods import HOST_NODE
from stowage_testbed.wait import wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.smoke]

OURS = {"schedulerName": "stowage"}
DEFINITION = "apiextensions.k8s.io/CustomResourceDefinition"


@pytest.fixture
def stock_pods(environment: HelmEnvironment) -> Iterator[dict[str, str]]:
    """Return a pod of the stock scheduler on each node: UID and node."""
    environment.deploy("stock", 2, 500)
    yield environment.until_placed("stock", 2)
    environment.remove("stock")


@pytest.fixture
def writes_before(environment: HelmEnvironment) -> int:
    """Return how much releases of other tests have written, under the same account."""
    return len(environment.writes_of(ACCOUNT))


@pytest.fixture
def before(environment: HelmEnvironment) -> set[tuple[str, str, str]]:
    """Return all objects of the cluster without the chart."""
    return environment.objects()


@pytest.fixture
def notes(
    environment: HelmEnvironment,
    before: set[tuple[str, str, str]],
) -> Iterator[str]:
    """Return what Helm says once the chart is installed."""
    yield environment.install()
    if RELEASE in environment.helm("list", "--short").split():
        environment.helm("uninstall", RELEASE, "--wait")


@pytest.fixture
def crowd(environment: HelmEnvironment, notes: str) -> Iterator[dict[str, str]]:
    """Return the pods in whose way the last one would not fit, unless one moves."""
    environment.deploy("web", 2, 2000, **OURS)
    placed = environment.until_placed("web", 2)
    assert len(set(placed.values())) == 2
    environment.deploy("big", 1, 3000, **OURS)
    yield placed
    environment.remove("big", "web")


def test_it_proposes_and_moves_no_pod_until_it_is_told_to(
    environment: HelmEnvironment,
    writes_before: int,
    stock_pods: dict[str, str],
    notes: str,
    crowd: dict[str, str],
) -> None:
    """Who tries it on a cluster that others use must not be able to do harm.

    The notes lead from the installation to the first plan that is carried out.
    """
    plan = environment.newest_plan("Proposed")
    name = plan["metadata"]["name"]
    moved = {one["podUID"] for one in plan["status"]["moves"]}

    assert plan["spec"]["executionMode"] == "DryRun"
    assert len(moved) == 1
    assert moved < crowd.keys()
    assert environment.nodes("stock") == stock_pods
    assert environment.nodes("web") == crowd
    assert list(environment.nodes("big").values()) == [""]
    written = environment.writes_of(ACCOUNT)[writes_before:]
    assert ("create", "pods/binding") in {one[:2] for one in written}
    assert {resource for verb, resource, _ in written if verb != "patch"} <= {
        "pods/binding",
        "packingplans",
        "packingplans/status",
        "leases",
    }
    touched = {named for _, _, named in written}
    assert not [one for one in touched if one.startswith("default/stock")]
    for step in (
        "schedulerName: stowage",
        "All others stay with the cluster's own scheduler",
        "kubectl get packingplans",
        "kubectl patch packingplan NAME --type merge",
    ):
        assert step in notes

    environment.kubectl(
        *("patch", "packingplan", name, "--type", "merge"),
        *("--patch", '{"spec":{"executionMode":"Execute"}}'),
    )
    environment.newest_plan("Completed")

    assert len(environment.until_placed("big", 1)) == 1
    assert len(environment.until_placed("web", 2).keys() & crowd.keys()) == 1
    assert environment.nodes("stock") == stock_pods


def test_an_uninstalled_chart_leaves_what_its_guide_names(
    environment: HelmEnvironment, before: set[tuple[str, str, str]], notes: str
) -> None:
    """Definitions with their objects, and the namespace, are the administrator's.

    Everything else is listed before and afterwards, of every kind that the API server
    has.
    """
    assert notes
    environment.kubectl("create", "serviceaccount", "mine", "--namespace", NAMESPACE)
    wait_until(
        "the lease to be held",
        lambda: environment.kubectl(
            *("get", "lease", RELEASE, "--namespace", NAMESPACE),
            "--output=jsonpath={.spec.holderIdentity}",
        ),
        bool,
        timeout_s=20,
    )
    plans = {one["metadata"]["name"] for one in environment.plans.plans()}

    environment.helm("uninstall", RELEASE, "--wait")

    def left() -> set[tuple[str, str, str]]:
        return {
            one
            for one in environment.objects() - before
            if one[1:] != (NAMESPACE, "mine")
        }

    expected = {
        ("/Namespace", "", NAMESPACE),
        ("/ServiceAccount", NAMESPACE, "default"),
        ("/ConfigMap", NAMESPACE, "kube-root-ca.crt"),
        *(
            (DEFINITION, "", f"{kind}.stowage.dev")
            for kind in ("packingplans", "packingpolicies", "reservations")
        ),
        ("apiregistration.k8s.io/APIService", "", "v1alpha1.stowage.dev"),
        *(("stowage.dev/PackingPlan", "", name) for name in plans),
    }
    wait_until(
        "nothing else to be left",
        lambda: left() - expected,
        lambda rest: not rest,
        timeout_s=20,
    )
    assert {one for one in environment.objects() if one[0] == DEFINITION} >= {
        one for one in expected if one[0] == DEFINITION
    }
    assert (
        environment.core.list_namespaced_pod(
            NAMESPACE, field_selector=f"spec.nodeName={HOST_NODE}"
        ).items
        == []
    )
