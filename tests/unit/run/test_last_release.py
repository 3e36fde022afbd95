"""A release is kept for the next scenario only while it is as it was installed."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from typing import Any, cast

import pytest

from stowage_testbed.api.objects import Objects
from stowage_testbed.helm.release import Release
from stowage_testbed.run.serving import LastRelease, Serving, Wanted

LABELS = {"app.kubernetes.io/instance": "stowage"}
WANTED = Wanted("deterministic", optimizer_enabled=False)


class Cluster:
    """What the server lists of a release, by kind."""

    def __init__(self) -> None:
        status = {
            "observedGeneration": 1,
            "replicas": 1,
            "updatedReplicas": 1,
            "availableReplicas": 1,
        }
        metadata = {"name": "stowage", "labels": LABELS, "uid": "1"}
        container = {"name": "scheduler", "ready": True, "restartCount": 0}
        self.there: dict[str, dict[str, Any]] = {
            "Deployment": {
                "metadata": {**metadata, "generation": 1},
                "spec": {"replicas": 1},
                "status": status,
            },
            "ConfigMap": {"metadata": metadata, "data": {"scheduler.yaml": "a: 1"}},
            "Pod": {"metadata": metadata, "status": {"containerStatuses": [container]}},
        }

    def list_all(self, kind: str, _namespace: str) -> list[dict[str, Any]]:
        return [deepcopy(self.there[kind])]


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


@pytest.fixture
def last(cluster: Cluster) -> LastRelease:
    release = Release(cast("Any", None), "stowage", "stowage-system")
    made = LastRelease()
    made.note(Serving(release, WANTED, ""), cast("Objects", cluster))
    return made


def found(last: LastRelease, cluster: Cluster, wanted: Wanted = WANTED) -> bool:
    return last.find(wanted, cast("Objects", cluster)) is not None


def test_the_same_is_found_again(last: LastRelease, cluster: Cluster) -> None:
    """A scheduler that starts anew costs more than most scenarios."""
    assert found(last, cluster)


@pytest.mark.parametrize(
    "wanted",
    [
        replace(WANTED, profile="default"),
        replace(WANTED, optimizer_enabled=True),
        replace(WANTED, values={"scheduler": {"logLevel": 4}}),
    ],
)
def test_another_one_is_not(
    last: LastRelease, cluster: Cluster, wanted: Wanted
) -> None:
    """It would place otherwise."""
    assert not found(last, cluster, wanted)


@pytest.mark.parametrize(
    ("kind", "path", "value"),
    [
        ("Deployment", ("spec", "replicas"), 0),
        ("Deployment", ("status", "availableReplicas"), 0),
        ("ConfigMap", ("data", "scheduler.yaml"), "a: 2"),
        ("Pod", ("metadata", "uid"), "2"),
        ("Pod", ("status", "containerStatuses", 0, "restartCount"), 1),
        ("Pod", ("status", "containerStatuses", 0, "ready"), False),
    ],
)
def test_one_that_was_changed_is_not(
    last: LastRelease,
    cluster: Cluster,
    kind: str,
    path: tuple[str | int, ...],
    value: object,
) -> None:
    """A scenario may scale it to nothing, kill it, or edit its configuration."""
    place: Any = cluster.there[kind]
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value

    assert not found(last, cluster)


def test_one_that_was_given_up_is_not(last: LastRelease, cluster: Cluster) -> None:
    """A scenario has failed with it, whoever is to blame."""
    last.forget()

    assert not found(last, cluster)
