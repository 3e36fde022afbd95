"""What a pod takes, as the scheduler counts it."""

from __future__ import annotations

from typing import Any

import pytest

from stowage_testbed.amounts.resources import Resources
from stowage_testbed.observe.pod_body import requests_of


def asks(**requests: str) -> dict[str, Any]:
    return {"resources": {"requests": requests}}


def sidecar(**requests: str) -> dict[str, Any]:
    return {**asks(**requests), "restartPolicy": "Always"}


SPECS: dict[str, tuple[dict[str, Any], dict[str, int]]] = {
    "the sum of its containers":
        ({"containers": [asks(cpu="1"), asks(cpu="500m")]}, {"cpu": 1500}),
    "its largest init container if that is more":
        ({"initContainers": [asks(cpu="2"), asks(cpu="3")],
          "containers": [asks(cpu="1")]}, {"cpu": 3000}),
    "its sidecars beside its containers":
        ({"initContainers": [sidecar(cpu="1"), asks(cpu="2")],
          "containers": [asks(cpu="1")]}, {"cpu": 3000}),
    "what the pod as a whole asks for, whatever its containers do":
        ({**asks(cpu="4"), "containers": [asks(cpu="1", memory="1Ki")]},
         {"cpu": 4000, "memory": 1024}),
    "its overhead beside that":
        ({**asks(cpu="4"), "containers": [asks()], "overhead": {"cpu": "250m"}},
         {"cpu": 4250}),
    "parts of a unit as a whole one":
        ({"containers": [asks(cpu="100u", memory="1500m")]}, {"cpu": 1, "memory": 2}),
}  # fmt: skip


@pytest.mark.parametrize("what", SPECS)
def test_a_pod_takes(what: str) -> None:
    """A count of our own that differs finds overcommit where there is none."""
    spec, amounts = SPECS[what]

    assert requests_of({"spec": spec}) == Resources(amounts, pods=1)
