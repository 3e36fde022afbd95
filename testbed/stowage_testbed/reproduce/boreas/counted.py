"""The rows of one scene and one arm, counted together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from stowage_testbed.reproduce.boreas.arms import Contender
from stowage_testbed.reproduce.boreas.request import BoreasRequest
from stowage_testbed.reproduce.boreas.rows import DeploymentRow
from stowage_testbed.reproduce.boreas.scene import Scene


@dataclass(frozen=True, slots=True)
class Counted:
    """What came of one scene by one arm."""

    scene: Scene
    contender: Contender
    rows: tuple[DeploymentRow, ...]

    @property
    def whole(self) -> tuple[DeploymentRow, ...]:
        """Return the runs in which every pod has a node."""
        return tuple(row for row in self.rows if row.whole)

    @property
    def solve_s(self) -> float | None:
        """Return the mean seconds of the plans of a whole deployment."""
        return fmean(row.solve_s for row in self.whole) if self.whole else None

    @property
    def took_s(self) -> float | None:
        """Return the mean seconds of a whole deployment."""
        return fmean(row.took_s for row in self.whole) if self.whole else None

    @property
    def nodes_used(self) -> tuple[int, ...]:
        """Return the fewest and the most nodes of a whole deployment."""
        used = [row.nodes_used for row in self.whole]
        return (min(used), max(used)) if used else ()


def counted(
    request: BoreasRequest, rows: Sequence[DeploymentRow]
) -> tuple[Counted, ...]:
    """Return each scene by each arm, in the order that was asked for."""
    return tuple(
        Counted(
            scene,
            contender,
            tuple(
                row
                for row in rows
                if (row.scene, row.arm) == (scene.name, contender.name)
            ),
        )
        for scene in request.scenes
        for contender in request.arms
    )
