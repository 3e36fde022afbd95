"""What came of one deployment."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DeploymentRow:
    """One scene, deployed once.

    Attributes
    ----------
    scene, arm, number
        Which, by which scheduler, and the how manieth time.
    pods, where
        How many there are; the node of each that has one, as ``app/node``, in order.
    took_s
        Seconds from the first creation until the watch showed the last node, with the
        time that a batch waits; 0 where pods were left out.
    solves, solve_s
        Plans that were asked for, and the seconds that they took together.
    moves
        Pods that were moved.
    """

    scene: str
    arm: str
    number: int
    pods: int
    where: tuple[str, ...]
    took_s: float
    solves: int
    solve_s: float
    moves: int

    @property
    def whole(self) -> bool:
        """Whether every pod has a node."""
        return len(self.where) == self.pods

    @property
    def nodes_used(self) -> int:
        """Return on how many nodes they are."""
        return len({one.partition("/")[2] for one in self.where})
