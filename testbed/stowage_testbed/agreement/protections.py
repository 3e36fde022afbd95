"""What keeps a running pod where it is: one function a reason."""

from __future__ import annotations

from random import Random

from stowage_testbed.agreement.draft import Change, Draft, Manifest, own

POD_SHARE = 0.15
LONG_AGO = "2024-01-01T00:00:00Z"
SYSTEM_CRITICAL = 2_000_000_000


def protect_some(rng: Random, draft: Draft) -> None:
    """Protect some of the running pods."""
    for pod in draft.running():
        if rng.random() < POD_SHARE:
            rng.choice(PROTECTIONS)(rng, pod)


def _without_controller(_: Random, pod: Manifest) -> None:
    pod["metadata"].pop("ownerReferences", None)


def _daemon(_: Random, pod: Manifest) -> None:
    own(pod, "DaemonSet", "daemon")


def _of_unknown_controller(_: Random, pod: Manifest) -> None:
    own(pod, "Widget", "widget")


def _opts_out(rng: Random, pod: Manifest) -> None:
    key, value = rng.choice(
        (
            ("stowage.dev/do-not-move", "true"),
            ("karpenter.sh/do-not-disrupt", "true"),
            ("cluster-autoscaler.kubernetes.io/safe-to-evict", "false"),
        )
    )
    _annotate(pod, key, value)


def _static(_: Random, pod: Manifest) -> None:
    _annotate(pod, "kubernetes.io/config.source", "file")


def _mirror(_: Random, pod: Manifest) -> None:
    _annotate(pod, "kubernetes.io/config.mirror", "hash")


def _local_storage(_: Random, pod: Manifest) -> None:
    pod["spec"].setdefault("volumes", []).append({"name": "scratch", "emptyDir": {}})


def _terminating(_: Random, pod: Manifest) -> None:
    pod["metadata"]["deletionTimestamp"] = LONG_AGO
    pod["metadata"]["deletionGracePeriodSeconds"] = 30


def _not_started(_: Random, pod: Manifest) -> None:
    pod["status"] = {"phase": "Pending"}


def _of_other_scheduler(_: Random, pod: Manifest) -> None:
    pod["spec"]["schedulerName"] = "other"


def _system_critical(_: Random, pod: Manifest) -> None:
    pod["spec"]["priority"] = SYSTEM_CRITICAL


def _finished(_: Random, pod: Manifest) -> None:
    """Make a pod that no longer counts."""
    pod["status"] = {"phase": "Succeeded"}


def _annotate(pod: Manifest, key: str, value: str) -> None:
    pod["metadata"].setdefault("annotations", {})[key] = value


PROTECTIONS: tuple[Change, ...] = (
    _without_controller,
    _daemon,
    _of_unknown_controller,
    _opts_out,
    _static,
    _mirror,
    _local_storage,
    _terminating,
    _not_started,
    _of_other_scheduler,
    _system_critical,
    _finished,
)
