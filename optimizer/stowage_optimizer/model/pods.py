"""The pods of a snapshot, a column for each thing that is known of them.

A cluster has thousands of pods and hundreds of classes, so that no pod is an object.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import compress

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int32]

TERMINATING = "terminating"
"""Reason why a pod that is being deleted may not be moved."""

UNSUPPORTED = "unsupported"
"""Reason why a pod stays that no rule keeps: a plan cannot say what it needs."""


@dataclass(frozen=True)
class Pods:
    """Columns of equal length, one entry a pod; ``node`` is empty where it is pending.

    ``deletion_cost`` is ``controller.kubernetes.io/pod-deletion-cost``; ``age_s``
    counts seconds since the pod started. A pod that is ``exempt_from_budget`` goes
    without its disruption budget, unless there are two.
    """

    uid: Sequence[str] = ()
    namespace: Sequence[str] = ()
    name: Sequence[str] = ()
    class_id: Sequence[str] = ()
    node: Sequence[str] = ()
    movable: Sequence[bool] = ()
    immovable_reason: Sequence[str] = ()
    deletion_cost: Sequence[int] = ()
    age_s: Sequence[int] = ()
    exempt_from_budget: Sequence[bool] = ()

    def __len__(self) -> int:
        return len(self.uid)

    @cached_property
    def classes(self) -> tuple[str, ...]:
        """The ids of the classes that have pods, in the order of their first ones."""
        return tuple(dict.fromkeys(self.class_id))

    @cached_property
    def class_number(self) -> Numbers:
        """Index into ``classes`` by pod, shape ``(pods,)``."""
        number = {class_id: at for at, class_id in enumerate(self.classes)}
        return np.array([number[one] for one in self.class_id], np.int32)

    @cached_property
    def running(self) -> NDArray[np.bool_]:
        """Whether each pod has a node, shape ``(pods,)``."""
        return np.array([one != "" for one in self.node], np.bool_)

    @cached_property
    def running_classes(self) -> tuple[str, ...]:
        """The ids of the classes that have running pods, as `classes` orders them."""
        return self._classes_of(self.running)

    @cached_property
    def movable_classes(self) -> tuple[str, ...]:
        """The ids of the classes with running pods that may move, in that order."""
        return self._classes_of(self.running & np.array(self.movable, np.bool_))

    @cached_property
    def waiting_classes(self) -> tuple[str, ...]:
        """The ids of the classes that have pending pods, in the same order."""
        return self._classes_of(~self.running)

    def _classes_of(self, members: NDArray[np.bool_]) -> tuple[str, ...]:
        return tuple(compress(self.classes, self.counts(members)))

    def counts(self, members: NDArray[np.bool_]) -> list[int]:
        """Return how many of ``members``, flags by pod, each of ``classes`` has."""
        numbers = self.class_number[members]
        counts: list[int] = np.bincount(numbers, minlength=len(self.classes)).tolist()
        return counts
