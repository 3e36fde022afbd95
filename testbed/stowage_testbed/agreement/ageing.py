"""What time does to a cluster: pods sit where they would not come now."""

from __future__ import annotations

from random import Random

from stowage_testbed.agreement.draft import Change, Draft, Manifest

NODE_SHARE = 0.25
GONE_SHARE = 0.12
BUDGETS = (0, 0, 1, 2, 3)


def age(rng: Random, draft: Draft) -> None:
    """Change some nodes, let some pods end, and add disruption budgets."""
    for node in draft.nodes:
        if rng.random() < NODE_SHARE:
            rng.choice(CHANGES)(rng, node)
    draft.pods = [
        pod
        for pod in draft.pods
        if not pod["spec"].get("nodeName") or rng.random() >= GONE_SHARE
    ]
    for number in range(rng.choice(BUDGETS)):
        if draft.pods:
            labels = rng.choice(draft.pods)["metadata"]
            draft.objects.append(_budget(rng, f"budget-{number}", labels))


def _cordon(_: Random, node: Manifest) -> None:
    node["spec"]["unschedulable"] = True


def _taint(rng: Random, node: Manifest) -> None:
    effect = rng.choice(("NoSchedule", "NoExecute", "PreferNoSchedule"))
    taint = {"key": rng.choice(("t", "old")), "effect": effect}
    node["spec"].setdefault("taints", []).append(taint)


def _shrink(rng: Random, node: Manifest) -> None:
    """Leave less room than is taken, perhaps."""
    capacity = node["status"]["capacity"]
    key = rng.choice(("cpu", "pods"))
    less = "300m" if key == "cpu" else "2"
    node["status"] = {"capacity": capacity, "allocatable": {**capacity, key: less}}


def _relabel(rng: Random, node: Manifest) -> None:
    labels = node["metadata"]["labels"]
    if labels and rng.randrange(2):
        del labels[rng.choice(sorted(labels))]
    else:
        labels["generation"] = rng.choice(("1", "2", "new"))


def _budget(rng: Random, name: str, of: Manifest) -> Manifest:
    labels = of["labels"]
    chosen = rng.sample(sorted(labels), min(len(labels), rng.randrange(2)))
    selector: Manifest = {"matchLabels": {key: labels[key] for key in chosen}}
    if not rng.randrange(6):
        selector = {"matchExpressions": [{"key": "app", "operator": "Exists"}]}
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"namespace": of["namespace"], "name": name},
        "spec": {"selector": selector},
        "status": {
            "disruptionsAllowed": rng.randrange(3),
            "currentHealthy": 0,
            "desiredHealthy": 0,
            "expectedPods": 0,
        },
    }


CHANGES: tuple[Change, ...] = (_cordon, _taint, _shrink, _relabel)
