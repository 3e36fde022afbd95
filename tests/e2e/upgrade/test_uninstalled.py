"""What is left of a release when it is gone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from release_environment import ReleaseEnvironment, processes_in

from stowage_testbed.api.client import ask
from stowage_testbed.api.kinds import kinds_of
from stowage_testbed.base.wait import HANG_S, wait_until
from stowage_testbed.helm import install_release, uninstall_release
from stowage_testbed.helm.install import CHART

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
        timeout_s=HANG_S,
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
        timeout_s=HANG_S,
    )
    assert lease in set(_objects(environment)) - before
    folder = release.pod_folder()
    assert folder is not None
    assert len(processes_in(folder)) >= len(release.process_ids()) == 2

    uninstall_release(release)

    assert processes_in(folder) == []
    assert not [path for path in (environment.cluster.workdir / "mnt").rglob("*") if path.is_symlink()]

    definitions = {("CustomResourceDefinition", "", file.stem) for file in (CHART / "crds").glob("*.yaml")}
    wait_until(
        "what the release has brought to be gone, but for the definitions",
        lambda: set(_objects(environment)) - before,
        lambda left: left == definitions,
        timeout_s=HANG_S,
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
