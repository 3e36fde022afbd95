"""What is asked of the evaluation: scenes, schedulers, and how often."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from stowage_testbed.base.errors import InputError
from stowage_testbed.compare.arms.default import default_arm
from stowage_testbed.compare.arms.stowage import PROFILE, StowageArm
from stowage_testbed.reproduce.boreas.scenes import RUNS, Scene, scenes
from stowage_testbed.run.arm import Arm
from stowage_testbed.simulate import NO_PROTECTION

BATCH_S = 1.0
"""The paper's batches wait 30 s for more pods. These are complete when they begin, so
that waiting would only take time."""

SOLVE_S = 5.0
QUIET_S = 2.5
"""A scheduler that left pods out tries those again, to which something new may help,
within two seconds at the second attempt."""


def arms() -> tuple[Arm, ...]:
    """Return them all, the stock scheduler first."""
    return (default_arm(), StowageArm("stowage", PROFILE, _batches()), StowageArm("stowage-moves", PROFILE, _moves()))


def plans(arm: Arm) -> bool:
    """Return whether an arm places by plans."""
    return isinstance(arm, StowageArm)


def quiet_s(arm: Arm) -> float:
    """Return for how long nothing must change before pods are said to be left out."""
    return BATCH_S + SOLVE_S + QUIET_S if plans(arm) else QUIET_S


def _batches() -> dict[str, object]:
    """Return values for batches, all or nothing, on the fewest nodes."""
    return {
        "priorityOptimizer": {
            "trigger": "Batch",
            "strategy": "boreas",
            "batchSeconds": BATCH_S,
            "timeLimitSeconds": SOLVE_S,
            **NO_PROTECTION,
        }
    }


def _moves() -> dict[str, object]:
    """Return values as installed, but sparing nobody: others move for new pods."""
    return {"priorityOptimizer": {"timeLimitSeconds": SOLVE_S, **NO_PROTECTION}}


REPEATED = ("minimal", "affinity")
"""The tests that the paper repeats, and counts."""

OTHERS = 10

NamedT = TypeVar("NamedT", Scene, Arm)


@dataclass(frozen=True, slots=True)
class BoreasRequest:
    """Scenes, arms, and how often: the two tests that the paper counts, and others."""

    scenes: tuple[Scene, ...]
    arms: tuple[Arm, ...]
    repeat: int = RUNS
    others: int = OTHERS

    def runs_of(self, scene: Scene) -> int:
        """Return how often a scene is deployed by each arm."""
        return self.repeat if scene.name in REPEATED else self.others

    def runs(self) -> Iterator[tuple[Arm, Scene, int]]:
        """Yield each run: an arm's one after the other, as each is started once."""
        for arm in self.arms:
            for scene in self.scenes:
                for number in range(1, self.runs_of(scene) + 1):
                    yield arm, scene, number

    def document(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "scenes": [one.name for one in self.scenes],
            "arms": [one.name for one in self.arms],
            "repeat": self.repeat,
            "others": self.others,
        }


def run_id(arm: Arm, scene: Scene, number: int) -> str:
    """Return a run's name."""
    return f"{scene.name}-{arm.name}-{number}"


def chosen_scenes(names: Sequence[str]) -> tuple[Scene, ...]:
    """Return the scenes of those names, all without any."""
    return _chosen("--scenes", names, scenes())


def chosen_arms(names: Sequence[str]) -> tuple[Arm, ...]:
    """Return the arms of those names, all without any."""
    return _chosen("--arms", names, arms())


def _chosen(option: str, names: Sequence[str], known: tuple[NamedT, ...]) -> tuple[NamedT, ...]:
    by_name = {one.name: one for one in known}
    unknown = [name for name in names if name not in by_name]
    if unknown:
        raise InputError(f"{option} {unknown[0]!r}: must be of {', '.join(by_name)}")
    return tuple(one for one in known if not names or one.name in names)
