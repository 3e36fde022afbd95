"""What a run is asked to do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from stowage_testbed.base.errors import InputError
from stowage_testbed.cluster.backend import Backend
from stowage_testbed.scenario.load import select
from stowage_testbed.scenario.model import Scenario

DEFAULT_VARIANT = "default"
"""Names the run of a scenario without any variant."""

FULL = "full"
METRICS = "metrics"
APART = frozenset({FULL, METRICS})
"""Labels of scenarios that run only if they are asked for: those that take long, and
those that need a cluster that measures usage."""


@dataclass(frozen=True, slots=True)
class RunRequest:
    """Scenarios, rounds, and the cluster to run on.

    Attributes
    ----------
    cluster
        Name of a cluster that is up; ``None`` makes one for the run.
    keep_cluster
        Leave the run's own cluster up.
    backend
        How the run's own cluster is run.
    minor
        Of Kubernetes, that the run's own cluster is of; the default one without.
    folders
        Where results are written.
    jobs
        How many scenarios run at a time, each on a cluster of its own.
    """

    scenarios: tuple[Scenario, ...]
    repeat: int = 1
    cluster: str | None = None
    keep_cluster: bool = False
    backend: Backend = Backend.KWOK_BINARY
    folders: tuple[Path, ...] = ()
    minor: str | None = None
    jobs: int = 1

    @property
    def total(self) -> int:
        """Number of scenario runs."""
        return len(self.scenarios) * self.repeat


def choose_scenarios(
    asked: Sequence[str], *, folder: Path, variant: str | None = None, labels: Sequence[str] = ()
) -> tuple[Scenario, ...]:
    """Read and check every scenario that is meant.

    Parameters
    ----------
    asked, folder, labels
        As `stowage_testbed.scenario.load.select` takes them.
    variant
        Only this variant of each scenario; ``default`` is the run without one.

    Raises
    ------
    InputError
        No scenario has the variant, or nothing was chosen.

    Notes
    -----
    A scenario with the label `full` or `metrics` is chosen only by that label or by its
    own name.
    """
    found = select(asked, folder=folder, labels=labels)
    named = {item.name for word in asked for item in found if _is_meant(word, item)}
    apart = APART - set(labels)
    chosen = tuple(i for i in found if not apart & set(i.labels) or i.name in named)
    if variant is not None:
        known = sorted({item.variant or DEFAULT_VARIANT for item in chosen})
        if variant not in known:
            raise InputError(f"no chosen scenario has a variant {variant!r}; there are: {', '.join(known) or 'none'}")
        chosen = tuple(item for item in chosen if (item.variant or DEFAULT_VARIANT) == variant)
    if not chosen:
        raise InputError("no scenario was chosen; name a file, a folder or a name that `stowage scenario list` prints")
    return chosen


def _is_meant(word: str, scenario: Scenario) -> bool:
    """Return whether a word means this very scenario, and not one of many."""
    path = Path(word)
    if path.suffix in {".yaml", ".yml"}:
        return scenario.path is not None and path.resolve() == scenario.path.resolve()
    return word in {scenario.name, scenario.scenario_id}
