"""A container's variables."""

from __future__ import annotations

import os

import pytest
from host_builders import API_URL, a_container

from stowage_testbed.hostpods.environment import container_environment, expand


def test_little_is_inherited_and_the_api_server_is_named() -> None:
    """Clients that look for the cluster find the real one."""
    variables = container_environment(a_container("true"), API_URL)

    assert variables.pop("KUBERNETES_SERVICE_HOST") == "127.0.0.1"
    assert variables.pop("KUBERNETES_SERVICE_PORT") == "6443"
    assert variables.pop("KUBERNETES_SERVICE_PORT_HTTPS") == "6443"
    assert variables.keys() <= {"PATH", "LANG"}
    assert variables["PATH"] == os.environ["PATH"]


def test_a_value_may_use_those_before_it() -> None:
    """The kubelet's order: what is said last and closest counts."""
    env = [
        {"name": "SIZE", "value": "10"},
        {"name": "BOTH", "value": "$(SIZE)-$(KUBERNETES_SERVICE_PORT)"},
        {"name": "KUBERNETES_SERVICE_PORT", "value": "1"},
    ]

    variables = container_environment(a_container("true", env=env), API_URL)

    assert variables["BOTH"] == "10-6443"
    assert variables["KUBERNETES_SERVICE_PORT"] == "1"


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
