"""What is left of a release, and from the chart of the version before to this one and back.

The templates and definitions are those of each version; the scheduler is this one's
throughout, whose old binary would have to be built for it.
"""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import figure_1_cluster
import pytest
from figure_1_cluster import nodes, wait_for
from release_environment import ReleaseEnvironment, processes_in

from stowage_testbed.api.client import ApiRefusedError, ask
from stowage_testbed.api.kinds import kinds_of
from stowage_testbed.api.objects import Objects, make_manifest
from stowage_testbed.base.errors import StowageError
from stowage_testbed.base.wait import HANG_S, wait_until
from stowage_testbed.cli.plan_control import PlanApi
from stowage_testbed.helm import Release, install_release, uninstall_release
from stowage_testbed.helm.install import CHART
from stowage_testbed.helm.release import run_helm
from stowage_testbed.helm.serving import await_serving
from stowage_testbed.simulate.instance import NO_PROTECTION

pytestmark = pytest.mark.e2e

NAMESPACE = "stowage-system"
NOT_OURS = frozenset({"Event", "APIService"})
"""Kinds whose objects come and go by themselves, or with a definition."""
OF_EVERY_NAMESPACE = {("ServiceAccount", NAMESPACE, "default"), ("ConfigMap", NAMESPACE, "kube-root-ca.crt")}


def test_uninstalling_leaves_nothing_but_the_definitions(environment: ReleaseEnvironment) -> None:
    """Also not the lease, which the scheduler and not Helm has made, and no process."""
    environment.core.create_namespace({"metadata": {"name": NAMESPACE}})
    before = wait_until(
        "the namespace to have what every one has",
        lambda: set(_objects(environment)),
        lambda seen: seen >= OF_EVERY_NAMESPACE,
    )
    lease = ("Lease", NAMESPACE, "stowage")
    release = install_release(
        environment.cluster,
        profile="optimizer",
        optimizer_enabled=True,
        values={
            "scheduler": {"leaderElection": {"enabled": True}, "metrics": {"enabled": True}},
            "podDisruptionBudget": {"enabled": True},
            "networkPolicy": {"enabled": True},
        },
    )
    wait_until(
        "the lease to belong to the release",
        lambda: _owners(environment, "stowage"),
        lambda owners: owners == ["ServiceAccount"],
    )
    assert lease in set(_objects(environment)) - before
    folder = release.pod_folder()
    assert folder is not None
    assert len(processes_in(folder.parent)) >= len(release.process_ids()) == 2

    uninstall_release(release)

    assert processes_in(folder.parent) == []
    assert not [path for path in (environment.cluster.workdir / "mnt").rglob("*") if path.is_symlink()]

    definitions = {("CustomResourceDefinition", "", file.stem) for file in (CHART / "crds").glob("*.yaml")}
    wait_until(
        "what the release has brought to be gone, but for the definitions",
        lambda: set(_objects(environment)) - before,
        lambda left: left == definitions,
    )


def _objects(environment: ReleaseEnvironment) -> Iterator[tuple[str, str, str]]:
    """Yield kind, namespace and name of every object that can be listed."""
    for kind in kinds_of(environment.client).all():
        if "list" not in kind.verbs or kind.name in NOT_OURS or not kind.preferred:
            continue
        answer: Any = ask(environment.client, "GET", kind.path(), "list objects")
        for item in answer.get("items") or ():
            metadata = item["metadata"]
            yield kind.name, metadata.get("namespace", ""), metadata["name"]


def _owners(environment: ReleaseEnvironment, lease: str) -> list[str]:
    path = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/{lease}"
    answer: Any = ask(environment.client, "GET", path, "read the lease")
    return [one["kind"] for one in answer["metadata"].get("ownerReferences", ())]


pytestmark = pytest.mark.e2e

PLAN, KIND = "stowage.dev/v1alpha1", "PackingPlan"
CONSOLIDATE = {"objective": "Consolidate", "executionMode": "DryRun"}
OLD = "custom resource definitions"
"""Words of the notes and of the scheduler about definitions that are too old."""
LACKING = "PackingPlan.spec.objective, PackingPlan.spec.maximize, PackingPlan.status.moves.turn, PackingPolicy"


def test_plans_go_on_over_an_upgrade_and_the_way_back(environment: ReleaseEnvironment, chart_before: Path) -> None:
    """Each plan is made under one version of the chart, and carried out by the other.

    With the definitions as they were, a plan that empties nodes must be refused:
    without its objective it would be one that places pods.
    """
    release = _install(environment, chart_before)
    plans, objects = PlanApi(environment.client), Objects(environment.client)
    figure_1_cluster.fill(environment)
    _ask(objects, "before", executionMode="DryRun")
    wait_for(environment, "before", "Proposed")

    notes = _helm(release, "upgrade", release.name, str(CHART), *_KEEP_VALUES)
    assert OLD in notes
    wait_until(
        "the scheduler to say that the definitions are old",
        lambda: _scheduler_log(release),
        lambda log: OLD in log and LACKING in log,
    )
    with pytest.raises(StowageError, match="another version"):
        plans.create("defragment-", CONSOLIDATE)
    with pytest.raises(ApiRefusedError, match="unknown field"):
        _ask(objects, "emptying", **CONSOLIDATE)
    assert [one["metadata"]["name"] for one in objects.list_all("PackingPlan")] == ["before"]

    _apply_definitions(environment)
    _ask(objects, "emptying", **CONSOLIDATE)
    assert "consolidation" in wait_for(environment, "emptying", "Proposed")["status"]
    plans.approve("before")
    wait_for(environment, "before", "Completed")
    assert all(nodes(environment).values())
    _assert_valid(objects, "before")
    assert not [line for line in _warnings(release) if "packingpolicies" in line]
    notes = _helm(release, "upgrade", release.name, str(CHART), *_KEEP_VALUES)
    assert OLD not in notes.partition("Remove the release")[0]

    figure_1_cluster.empty(environment)
    figure_1_cluster.fill(environment)
    unchanged = plans.plan("emptying")
    _ask(objects, "after", executionMode="DryRun")
    wait_for(environment, "after", "Proposed")
    _helm(release, "rollback", release.name, "1")

    plans.approve("after")
    wait_for(environment, "after", "Completed")
    assert all(nodes(environment).values())
    assert plans.plan("emptying") == unchanged
    for name in ("before", "emptying", "after"):
        _assert_valid(objects, name)


_KEEP_VALUES = ("--reset-then-reuse-values",)


def _install(environment: ReleaseEnvironment, chart: Path) -> Release:
    return install_release(
        environment.cluster,
        chart=chart,
        profile="optimizer-deterministic",
        optimizer_enabled=True,
        values={"priorityOptimizer": {"trigger": "Manual", "coolDownSeconds": 0, **NO_PROTECTION}},
    )


def _helm(release: Release, *arguments: str) -> str:
    """Change the release, wait until it serves, and return what Helm printed."""
    namespace = ("--namespace", release.namespace)
    done = run_helm(release.cluster, [*arguments, *namespace], HANG_S)
    assert done.returncode == 0, done.stderr
    assert await_serving(release, HANG_S, lambda: False)
    return done.stdout


def _apply_definitions(environment: ReleaseEnvironment) -> None:
    """Run what the guide and the notes say, of which Helm prints the first half."""
    shown = run_helm(environment.cluster, ["show", "crds", str(CHART)], HANG_S)
    kubectl = environment.cluster.tool_path("kubectl")
    command = [str(kubectl), "--kubeconfig", str(environment.cluster.kubeconfig)]
    command += ["apply", "--server-side", "--force-conflicts", "-f", "-"]
    done = subprocess.run(command, input=shown.stdout, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    Objects(environment.client).await_definition("packingpolicies.stowage.dev", HANG_S)


def _ask(objects: Objects, name: str, **spec: object) -> None:
    objects.create(make_manifest(PLAN, KIND, name, spec=spec), strict=True)


def _assert_valid(objects: Objects, name: str) -> None:
    """Write the object as it is stored: a schema in which it is not valid refuses."""
    stored: dict[str, Any] = objects.read(KIND, name)
    for subresource in ("", "status"):
        written = objects.patch(KIND, name, stored, subresource=subresource)
        assert written == stored


def _warnings(release: Release) -> list[str]:
    """Return the lines that the scheduler logged as warnings or errors.

    That it watches policies once their definition is there is told as information.
    """
    lines = _scheduler_log(release).splitlines()
    return [line for line in lines if line.startswith(("W", "E", "F"))]


def _scheduler_log(release: Release) -> str:
    return release.log_files()["scheduler"].read_text("utf-8")
