"""Settings that a process on the host cannot be given."""

from __future__ import annotations

from host_builders import a_container, a_pod

from stowage_testbed.hostpods.unenforced import unenforced_settings


def test_what_is_not_enforced_is_named() -> None:
    """Whoever reads the log must not believe in an isolation that is not there."""
    container = a_container(
        "true",
        securityContext={"runAsNonRoot": True},
        resources={"limits": {"memory": "1Gi"}},
    )
    pod = a_pod(container, securityContext={"runAsUser": 65532})

    assert unenforced_settings(pod) == [
        "main.resources.limits",
        "main.runAsNonRoot",
        "pod.runAsUser",
    ]


def test_a_plain_pod_has_nothing_to_enforce() -> None:
    """No noise where nothing was asked for."""
    assert unenforced_settings(a_pod(a_container("true"))) == []
