"""How a class that cannot be expressed is named."""

from __future__ import annotations

from stowage_optimizer.model.pod_class import PodClass
from stowage_optimizer.model.refusal import Refusal


def class_refusal(pod_class: PodClass, reason: str, detail: str) -> tuple[str, Refusal]:
    """Return the id of ``pod_class`` and the refusal that names it."""
    return pod_class.id, Refusal(f"class {pod_class.id}", reason, detail)
