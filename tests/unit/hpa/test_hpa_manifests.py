"""What the cluster is asked for: the paper's workload and its autoscaler."""

from __future__ import annotations

from dataclasses import replace

from hpa_records import QUICK

from stowage_testbed.hpa.settings import FULL, Autoscaling, Timing
from stowage_testbed.observe.pod import WORKLOAD_LABEL
from stowage_testbed.run.arm import PodOverrides
from stowage_testbed.run.cluster_needs import make_autoscaler_arguments
from stowage_testbed.run.recovery.manifests import (
    NAME,
    make_autoscaler,
    make_deployment,
)


def test_the_pods_get_their_schedulers_overrides() -> None:
    """YuniKorn, for one, looks for labels."""
    pod_overrides = PodOverrides("yunikorn", {"applicationId": "a"}, {"queue": "root"})

    pod = make_deployment("shop", FULL, pod_overrides)["spec"]["template"]

    assert pod["spec"]["schedulerName"] == "yunikorn"
    assert pod["metadata"]["labels"] == {"applicationId": "a", WORKLOAD_LABEL: NAME}
    assert pod["metadata"]["annotations"] == {"queue": "root"}


def test_pod_overrides_cannot_take_the_pods_from_their_deployment() -> None:
    pod_overrides = PodOverrides("default-scheduler", {WORKLOAD_LABEL: "other"})

    spec = make_deployment("shop", FULL, pod_overrides)["spec"]

    assert spec["selector"]["matchLabels"].items() <= (
        spec["template"]["metadata"]["labels"].items()
    )


def test_the_workload_is_the_paper_s() -> None:
    """Section 5.2.2: three to twenty replicas at half of what they request."""
    spec = make_deployment("shop", FULL, PodOverrides("default-scheduler"))["spec"]
    wanted = make_autoscaler("shop", FULL)["spec"]

    assert spec["replicas"] == 3
    (container,) = spec["template"]["spec"]["containers"]
    assert container["resources"] == {
        "requests": {"cpu": "200m"}, "limits": {"cpu": "500m"},
    }  # fmt: skip
    assert (wanted["minReplicas"], wanted["maxReplicas"]) == (3, 20)
    (metric,) = wanted["metrics"]
    assert metric["resource"]["target"]["averageUtilization"] == 50


def test_the_full_run_scales_up_as_kubernetes_does_by_default() -> None:
    """100 % or four pods in 15 s, whichever is more."""
    behaviour = make_autoscaler("shop", FULL)["spec"]["behavior"]

    assert behaviour["scaleUp"]["policies"] == [
        {"type": "Percent", "value": 100, "periodSeconds": 15},
        {"type": "Pods", "value": 4, "periodSeconds": 15},
    ]


def test_the_policy_can_be_another() -> None:
    plan = Autoscaling(scale_up_percent=900, scale_up_period_s=1)
    policies = make_autoscaler("shop", replace(FULL, autoscaling=plan))["spec"][
        "behavior"
    ]

    assert policies["scaleUp"]["policies"][0] == (
        {"type": "Percent", "value": 900, "periodSeconds": 1}
    )


def test_the_autoscaler_looks_as_often_as_the_run_says() -> None:
    (arguments,) = make_autoscaler_arguments(QUICK.timing).values()

    assert arguments == {"horizontal-pod-autoscaler-sync-period": "1s"}
    assert FULL.timing == Timing(resolution_s=15, sync_s=15)
