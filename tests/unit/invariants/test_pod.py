"""What a pod takes, as the scheduler counts it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from stowage_testbed.amounts.resources import Resources
from stowage_testbed.observe.pod_body import requests_of


def a_container(**requests: str) -> dict[str, Any]:
    return {"resources": {"requests": requests}}


def a_sidecar(**requests: str) -> dict[str, Any]:
    return {**a_container(**requests), "restartPolicy": "Always"}


SPECS: dict[str, tuple[Mapping[str, Any], Mapping[str, int]]] = {
    "the sum of its containers": (
        {"containers": [a_container(cpu="1"), a_container(cpu="500m")]},
        {"cpu": 1500},
    ),
    "its largest init container if that is more": (
        {
            "initContainers": [a_container(cpu="2"), a_container(cpu="3")],
            "containers": [a_container(cpu="1")],
        },
        {"cpu": 3000},
    ),
    "its sidecars beside its containers": (
        {
            "initContainers": [a_sidecar(cpu="1"), a_container(cpu="2")],
            "containers": [a_container(cpu="1")],
        },
        {"cpu": 3000},
    ),
    "what the pod as a whole asks for, whatever its containers do": (
        {
            "resources": {"requests": {"cpu": "4"}},
            "containers": [a_container(cpu="1", memory="1Ki")],
        },
        {"cpu": 4000, "memory": 1024},
    ),
    "its overhead beside that": (
        {
            "resources": {"requests": {"cpu": "4"}},
            "containers": [a_container()],
            "overhead": {"cpu": "250m"},
        },
        {"cpu": 4250},
    ),
    "parts of a unit as a whole one": (
        {"containers": [a_container(cpu="100u", memory="1500m")]},
        {"cpu": 1, "memory": 2},
    ),
}


@pytest.mark.parametrize("what", SPECS)
def test_a_pod_takes(what: str) -> None:
    """A count of our own that differs finds overcommit where there is none."""
    spec, amounts = SPECS[what]

    assert requests_of({"spec": spec}) == Resources(amounts, pods=1)
