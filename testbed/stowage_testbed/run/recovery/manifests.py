"""The workload and its autoscaler (second paper, section 5.2.2)."""

from __future__ import annotations

from stowage_testbed.api.client import Manifest
from stowage_testbed.api.objects import make_manifest
from stowage_testbed.hpa.settings import RecoverySettings
from stowage_testbed.observe.pod import WORKLOAD_LABEL
from stowage_testbed.run.arm import PodOverrides, apply_overrides

NAME = "php-apache"
IMAGE = "registry.k8s.io/hpa-example"


def make_deployment(namespace: str, settings: RecoverySettings, pod_overrides: PodOverrides) -> Manifest:
    """Return the web service's Deployment, as the scheduler's arm wants its pods."""
    service = settings.service
    labels = {WORKLOAD_LABEL: NAME}
    resources = {"requests": {"cpu": f"{service.request_milli}m"}, "limits": {"cpu": f"{service.limit_milli}m"}}
    pod = {
        "metadata": {"labels": labels},
        "spec": {
            "terminationGracePeriodSeconds": 0,
            "automountServiceAccountToken": False,
            "containers": [{"name": NAME, "image": IMAGE, "resources": resources}],
        },
    }
    spec = {"replicas": settings.autoscaling.min_replicas, "selector": {"matchLabels": labels}, "template": pod}
    manifest = make_manifest("apps/v1", "Deployment", NAME, namespace, spec=spec)
    return apply_overrides(manifest, pod_overrides)


def make_autoscaler(namespace: str, settings: RecoverySettings) -> Manifest:
    """Return the HorizontalPodAutoscaler of that Deployment."""
    plan = settings.autoscaling
    target = {"type": "Utilization", "averageUtilization": plan.target_percent}
    policies = [
        {"type": unit, "value": value, "periodSeconds": plan.scale_up_period_s}
        for unit, value in (("Percent", plan.scale_up_percent), ("Pods", plan.scale_up_pods))
    ]
    spec = {
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": NAME},
        "minReplicas": plan.min_replicas,
        "maxReplicas": plan.max_replicas,
        "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": target}}],
        "behavior": {"scaleUp": {"selectPolicy": "Max", "policies": policies}},
    }
    kind = "HorizontalPodAutoscaler"
    return make_manifest("autoscaling/v2", kind, NAME, namespace, spec=spec)
