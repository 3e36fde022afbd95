"""A container's variables."""

from __future__ import annotations

import asyncio
import os
from typing import Any

import pytest
from host_builders import MemoryObjects, a_container, a_pod, surroundings

from stowage_testbed.hostpods.environment import container_environment
from stowage_testbed.hostpods.errors import (
    EnvironmentSourceError,
    FeatureNotSupportedError,
)
from stowage_testbed.hostpods.expansion import expand

OBJECTS = MemoryObjects(
    config_maps={"settings": {"COLOUR": b"red", "SIZE": b"9"}},
    secrets={"keys": {"password": b"s3cret"}},
)


def environment(**container: Any) -> dict[str, str]:
    spec = a_container("true", **container)
    return asyncio.run(container_environment(a_pod(spec), spec, surroundings(OBJECTS)))


def test_little_is_inherited_and_the_api_server_is_named() -> None:
    """Clients that look for the cluster find the real one."""
    variables = environment()

    assert variables.pop("KUBERNETES_SERVICE_HOST") == "127.0.0.1"
    assert variables.pop("KUBERNETES_SERVICE_PORT") == "6443"
    assert variables.pop("KUBERNETES_SERVICE_PORT_HTTPS") == "6443"
    assert variables.keys() <= {"PATH", "LANG"}
    assert variables["PATH"] == os.environ["PATH"]


def test_env_wins_over_env_from_and_may_use_it() -> None:
    """The kubelet's order: what is said last and closest counts."""
    variables = environment(
        envFrom=[
            {"configMapRef": {"name": "settings"}},
            {"configMapRef": {"name": "settings"}, "prefix": "OLD_"},
            {"secretRef": {"name": "absent", "optional": True}},
        ],
        env=[
            {"name": "SIZE", "value": "10"},
            {"name": "BOTH", "value": "$(COLOUR)-$(SIZE)-$(OLD_SIZE)"},
        ],
    )

    assert variables["BOTH"] == "red-10-9"


def test_values_come_from_objects_and_from_the_pod() -> None:
    """Every kind of reference that the API has for variables."""
    limits = {"limits": {"cpu": "1500m"}}
    sources = {
        "PASSWORD": {"secretKeyRef": {"name": "keys", "key": "password"}},
        "COLOUR": {"configMapKeyRef": {"name": "settings", "key": "COLOUR"}},
        "NAME": {"fieldRef": {"fieldPath": "metadata.name"}},
        "IP": {"fieldRef": {"fieldPath": "status.podIP"}},
        "TIER": {"fieldRef": {"fieldPath": "metadata.labels['tier']"}},
        "CPU": {"resourceFieldRef": {"resource": "limits.cpu"}},
        "MILLI": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "1m"}},
        "MEMORY": {"resourceFieldRef": {"resource": "limits.memory", "divisor": "1Gi"}},
    }
    variables = environment(
        resources=limits,
        env=[{"name": name, "valueFrom": source} for name, source in sources.items()],
    )

    assert {name: variables[name] for name in sources} == {
        "PASSWORD": "s3cret",
        "COLOUR": "red",
        "NAME": "web",
        "IP": "127.0.0.1",
        "TIER": "front",
        "CPU": "2",
        "MILLI": "1500",
        "MEMORY": "8",
    }


@pytest.mark.parametrize(
    "reference",
    [{"name": "absent", "key": "a"}, {"name": "settings", "key": "absent"}],
)
def test_a_missing_source_is_named_unless_optional(reference: dict[str, Any]) -> None:
    """The container waits with this message instead of starting half configured."""
    entry = {"name": "A", "valueFrom": {"configMapKeyRef": reference}}
    with pytest.raises(EnvironmentSourceError, match="absent"):
        environment(env=[entry])

    reference = {**reference, "optional": True}
    entry = {"name": "A", "valueFrom": {"configMapKeyRef": reference}}
    assert "A" not in environment(env=[entry])


def test_an_unknown_source_is_refused() -> None:
    """Left out silently it would show only inside the program."""
    entry = {"name": "A", "valueFrom": {"fileKeyRef": {"path": "x"}}}
    with pytest.raises(FeatureNotSupportedError, match="fileKeyRef"):
        environment(env=[entry])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$(A)", "1"),
        ("x$(A)y$(B)z", "x1y2z"),
        ("$$(A)", "$(A)"),
        ("$$$(A)", "$1"),
        ("$(ABSENT)", "$(ABSENT)"),
        ("$A ${A} $", "$A ${A} $"),
    ],
)
def test_expansion_follows_the_api(text: str, expected: str) -> None:
    """Shell syntax is left alone, and a doubled dollar escapes."""
    assert expand(text, {"A": "1", "B": "2"}) == expected
