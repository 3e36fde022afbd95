"""What is asked of the evaluation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from stowage_testbed.reproduce.boreas.arms import Contender, contenders
from stowage_testbed.reproduce.boreas.errors import NoSuchNameError
from stowage_testbed.reproduce.boreas.published import RUNS
from stowage_testbed.reproduce.boreas.scene import Scene
from stowage_testbed.reproduce.boreas.scenes import scenes

REPEATED = ("minimal", "affinity")
"""The tests that the paper repeats, and counts."""

OTHERS = 10

NamedT = TypeVar("NamedT", Scene, Contender)


@dataclass(frozen=True, slots=True)
class BoreasRequest:
    """Scenes, arms, and how often.

    Attributes
    ----------
    repeat
        Of the two tests that the paper counts.
    others
        Of each of the other scenes.
    """

    scenes: tuple[Scene, ...]
    arms: tuple[Contender, ...]
    repeat: int = RUNS
    others: int = OTHERS

    def runs_of(self, scene: Scene) -> int:
        """Return how often a scene is deployed by each arm."""
        return self.repeat if scene.name in REPEATED else self.others

    def runs(self) -> Iterator[tuple[Contender, Scene, int]]:
        """Yield each run: an arm's one after the other, as each is started once."""
        for contender in self.arms:
            for scene in self.scenes:
                for number in range(1, self.runs_of(scene) + 1):
                    yield contender, scene, number

    def document(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "scenes": [one.name for one in self.scenes],
            "arms": [one.name for one in self.arms],
            "repeat": self.repeat,
            "others": self.others,
        }


def run_id(contender: Contender, scene: Scene, number: int) -> str:
    """Return a run's name."""
    return f"{scene.name}-{contender.name}-{number}"


def chosen_scenes(names: Sequence[str]) -> tuple[Scene, ...]:
    """Return the scenes of those names, all without any.

    Raises
    ------
    NoSuchNameError
        There is no such scene.
    """
    return _chosen("--scenes", names, scenes())


def chosen_arms(names: Sequence[str]) -> tuple[Contender, ...]:
    """Return the arms of those names, all without any.

    Raises
    ------
    NoSuchNameError
        There is no such arm.
    """
    return _chosen("--arms", names, contenders())


def _chosen(
    option: str, names: Sequence[str], known: tuple[NamedT, ...]
) -> tuple[NamedT, ...]:
    by_name = {one.name: one for one in known}
    unknown = [name for name in names if name not in by_name]
    if unknown:
        raise NoSuchNameError(option, unknown[0], tuple(by_name))
    return tuple(one for one in known if not names or one.name in names)
