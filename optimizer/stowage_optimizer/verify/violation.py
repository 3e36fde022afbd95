"""A violation: one thing that a plan must not do, found in it."""

from dataclasses import dataclass
from typing import Literal

RuleName = Literal[
    "snapshot",
    "snapshot-id",
    "duplicate",
    "unknown-pod",
    "unknown-node",
    "origin",
    "capacity",
    "eligibility",
    "host-ports",
    "devices",
    "pod-anti-affinity",
    "pod-affinity",
    "topology-spread",
    "immovable",
    "disruption-budget",
    "gang",
    "unverifiable",
    "policy",
    "tiers",
    "bounds",
    "not-better",
    "nodes-in-use",
    "limits",
    "gains",
    "certificate",
]
"""Every rule there is; the last one is of certificates, not of plans."""


@dataclass(frozen=True, slots=True)
class Violation:
    """One broken rule.

    Parameters
    ----------
    rule
        Name of the rule, as in ``capacity``.
    subject
        The pod, node or tier concerned.
    detail
        What is wrong, with the numbers.
    """

    rule: RuleName
    subject: str
    detail: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.subject}: {self.detail}"
