"""The workload and its autoscaler (second paper, section 5.2.2)."""

from __future__ import annotations

from stowage_testbed.api.client import Manifest
from stowage_testbed.hpa.settings import RecoverySettings
from stowage_testbed.observe.pod import WORKLOAD_LABEL
from stowage_testbed.run.arm import PodOverrides, apply_overrides

NAME = "php-apache"
IMAGE = "registry.k8s.io/hpa-example"


def make_deployment(
    namespace: str, settings: RecoverySettings, pod_overrides: PodOverrides
) -> Manifest:
    """Return the web service's Deployment, as the scheduler's arm wants its pods."""
    service = settings.service
    labels = {WORKLOAD_LABEL: NAME}
    resources = {
        "requests": {"cpu": f"{service.request_milli}m"},
        "limits": {"cpu": f"{service.limit_milli}m"},
    }
    pod = {
        "metadata": {"labels": labels},
        "spec": {
            "terminationGracePeriodSeconds": 0,
            "automountServiceAccountToken": False,
            "containers": [{"name": NAME, "image": IMAGE, "resources": resources}],
        },
    }
    manifest = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": NAME, "namespace": namespace},
        "spec": {
            "replicas": settings.autoscaling.min_replicas,
            "selector": {"matchLabels": labels},
            "template": pod,
        },
    }
    return apply_overrides(manifest, pod_overrides)


def make_autoscaler(namespace: str, settings: RecoverySettings) -> Manifest:
    """Return the HorizontalPodAutoscaler of that Deployment."""
    plan = settings.autoscaling
    target = {"type": "Utilization", "averageUtilization": plan.target_percent}
    policies = [
        {"type": kind, "value": value, "periodSeconds": plan.scale_up_period_s}
        for kind, value in (
            ("Percent", plan.scale_up_percent),
            ("Pods", plan.scale_up_pods),
        )
    ]
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": NAME, "namespace": namespace},
        "spec": {
            "scaleTargetRef": {
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "name": NAME,
            },
            "minReplicas": plan.min_replicas,
            "maxReplicas": plan.max_replicas,
            "metrics": [
                {"type": "Resource", "resource": {"name": "cpu", "target": target}}
            ],
            "behavior": {"scaleUp": {"selectPolicy": "Max", "policies": policies}},
        },
    }
