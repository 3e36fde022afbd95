"""What is so now, as expectations: which pods wait, and what keeps them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from stowage_testbed.capture.workloads import CapturedWorkload
from stowage_testbed.observe.pod import WORKLOAD_LABEL

_KNOWN = (
    "node affinity/selector",
    "untolerated taint",
    "topology spread constraints",
    "anti-affinity",
    "pod affinity",
    "free ports",
    "Too many pods",
    "volume node affinity conflict",
    "max volume count",
    "unbound immediate PersistentVolumeClaims",
    "were unschedulable",
)
"""Parts of the scheduler's words that stay from one minor to the next."""

_AVAILABLE = re.compile(r"nodes are available: (.*?)(?:\. |\.$|$)", re.DOTALL)
_REASON = re.compile(r"(?:^|, )\d+ (?=\D)")


def list_reasons(workload: CapturedWorkload) -> list[str]:
    """Return what keeps all pending pods of a workload, in the scheduler's words."""
    each = [set(_read_reasons(pod.message)) for pod in workload.pending]
    return sorted(set.intersection(*each)) if each else []


def write_reasons(workloads: Iterable[CapturedWorkload]) -> Iterator[str]:
    """Yield an expression for each workload of which pods wait for known reasons."""
    for one in workloads:
        said = " && ".join(f'c.message.contains("{reason}")' for reason in list_reasons(one))
        if said:
            yield (
                f'pods.filter(p, p.metadata.labels["{WORKLOAD_LABEL}"] == "{one.name}" '
                "&& !has(p.spec.nodeName)).all(p, p.status.conditions.exists(c, "
                f'c.type == "PodScheduled" && {said}))'
            )


def _read_reasons(message: str) -> Iterator[str]:
    found = _AVAILABLE.search(message)
    # What nodes were left out for what they are need not be told twice.
    for reason in _REASON.split(found[1]) if found else [message]:
        known = [one for one in _KNOWN if one in reason]
        if known:
            yield known[0]
        elif match := re.match(r"Insufficient [\w./-]+", reason):
            yield match[0].rstrip(".")
