"""Which scenarios are meant: by file, by folder, by name, by label.

A name is looked up in the user's folder first, then among the scenarios that come with
Stowage. Without a folder of scenarios those are used.
"""

from __future__ import annotations

import difflib
import fnmatch
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from stowage_testbed.base import layout
from stowage_testbed.base.errors import StowageError
from stowage_testbed.scenario.load import load_file, load_folder
from stowage_testbed.scenario.model import Scenario

_CLOSE = 3


def select(asked: Sequence[str], *, folder: Path, labels: Iterable[str] = ()) -> tuple[Scenario, ...]:
    """Return the scenarios that are meant, each once, in the order they are asked for.

    Parameters
    ----------
    asked
        Files, folders, names (``paper/figure-1``: the default run and its variants;
        ``paper/priorities@mixed``: one of them) or patterns of names (``paper/*``).
        Nothing means the whole folder, or all that come with Stowage where there is
        no such folder.
    folder
        Where names are looked up, before those that come with Stowage.
    labels
        Keep only scenarios that have one of these.

    Raises
    ------
    ScenarioIssuesError
        As `load_file` and `load_folder`.
    StowageError
        Nothing has a name that was asked for, or it cannot be read.
    """
    found: dict[str, Scenario] = {}
    for word in asked or (str(folder if folder.is_dir() else find_shipped_folder()),):
        for scenario in _find(word, folder):
            found.setdefault(scenario.scenario_id, scenario)
    wanted = set(labels)
    return tuple(scenario for scenario in found.values() if not wanted or wanted & set(scenario.labels))


def _find(word: str, folder: Path) -> tuple[Scenario, ...]:
    path = Path(word)
    if path.is_dir():
        return load_folder(path)
    if path.suffix in {".yaml", ".yml"}:
        return load_file(path)
    names: list[str] = []
    for catalogue in _load_catalogues(folder):
        meant = tuple(
            scenario
            for scenario in catalogue
            if fnmatch.fnmatchcase(scenario.scenario_id, word) or scenario.name == word
        )
        if meant:
            return meant
        names += [scenario.scenario_id for scenario in catalogue]
    close = difflib.get_close_matches(word, names, n=_CLOSE)
    hint = f"did you mean {' or '.join(close)}? " if close else ""
    raise StowageError(
        f"no scenario is called {word!r}; {hint}`stowage scenario list` prints those "
        "of the folder, with --shipped those that come with Stowage"
    )


def _load_catalogues(folder: Path) -> Iterator[tuple[Scenario, ...]]:
    """Yield the user's scenarios, if there are any, then those that are shipped."""
    if any(folder.rglob("*.yaml")):
        yield load_folder(folder)
    if not folder.is_dir() or not folder.samefile(find_shipped_folder()):
        yield load_folder(find_shipped_folder())


def find_shipped_folder() -> Path:
    """Return the folder of the scenarios that come with Stowage."""
    return layout.shipped("scenarios")
