"""What time does to a cluster: pods sit where they would not come now."""

from __future__ import annotations

from random import Random

from stowage_testbed.agreement.draft import Change, Draft, Manifest

NODE_SHARE = 0.25
GONE_SHARE = 0.12
BUDGETS = (0, 0, 1, 2, 3)


def age(draw: Random, draft: Draft) -> None:
    """Change some nodes, let some pods end, and add disruption budgets."""
    for node in draft.nodes:
        if draw.random() < NODE_SHARE:
            draw.choice(CHANGES)(draw, node)
    draft.pods = [
        pod
        for pod in draft.pods
        if not pod["spec"].get("nodeName") or draw.random() >= GONE_SHARE
    ]
    for number in range(draw.choice(BUDGETS)):
        if draft.pods:
            labels = draw.choice(draft.pods)["metadata"]
            draft.objects.append(_budget(draw, f"budget-{number}", labels))


def _cordon(_: Random, node: Manifest) -> None:
    node["spec"]["unschedulable"] = True


def _taint(draw: Random, node: Manifest) -> None:
    effect = draw.choice(("NoSchedule", "NoExecute", "PreferNoSchedule"))
    taint = {"key": draw.choice(("t", "old")), "effect": effect}
    node["spec"].setdefault("taints", []).append(taint)


def _shrink(draw: Random, node: Manifest) -> None:
    """Leave less room than is taken, perhaps."""
    capacity = node["status"]["capacity"]
    key = draw.choice(("cpu", "pods"))
    less = "300m" if key == "cpu" else "2"
    node["status"] = {"capacity": capacity, "allocatable": {**capacity, key: less}}


def _relabel(draw: Random, node: Manifest) -> None:
    labels = node["metadata"]["labels"]
    if labels and draw.randrange(2):
        del labels[draw.choice(sorted(labels))]
    else:
        labels["generation"] = draw.choice(("1", "2", "new"))


def _budget(draw: Random, name: str, of: Manifest) -> Manifest:
    labels = of["labels"]
    chosen = draw.sample(sorted(labels), min(len(labels), draw.randrange(2)))
    selector: Manifest = {"matchLabels": {key: labels[key] for key in chosen}}
    if not draw.randrange(6):
        selector = {"matchExpressions": [{"key": "app", "operator": "Exists"}]}
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"namespace": of["namespace"], "name": name},
        "spec": {"selector": selector},
        "status": {
            "disruptionsAllowed": draw.randrange(3),
            "currentHealthy": 0,
            "desiredHealthy": 0,
            "expectedPods": 0,
        },
    }


CHANGES: tuple[Change, ...] = (_cordon, _taint, _shrink, _relabel)
