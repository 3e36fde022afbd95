"""What a file becomes, and which files are meant."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from stowage_testbed.base.errors import StowageError
from stowage_testbed.cli import app
from stowage_testbed.scenario.catalogue import find_shipped_folder, select
from stowage_testbed.scenario.errors import ScenarioIssuesError
from stowage_testbed.scenario.load import find_files, load_folder
from stowage_testbed.scenario.starter import write_starter

GOOD = Path(__file__).parent / "good"
FILES = sorted(GOOD.glob("*.yaml"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_all_that_a_file_says_is_explained(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key that is accepted and then forgotten would be worse than an error."""
    monkeypatch.chdir(GOOD.parent)
    explained = CliRunner().invoke(app, ["scenario", "explain", f"good/{file.name}"])

    assert explained.output == file.with_suffix(".txt").read_text("utf-8")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with two scenario files, three scenarios."""
    text = (GOOD / "full.yaml").read_text("utf-8")
    alone = text.partition("variants:")[0].replace("good/full", "zoo/small")
    for name, content in (("good/full", text), ("zoo/small", alone)):
        path = tmp_path / f"{name}.yaml"
        path.parent.mkdir()
        path.write_text(content, "utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("asked", "labels", "found"),
    [
        ([], (), ["good/full", "good/full@other", "zoo/small"]),
        (["good/full"], (), ["good/full", "good/full@other"]),
        (["good/full@other"], (), ["good/full@other"]),
        (["zoo/*", "good/full"], (), ["zoo/small", "good/full", "good/full@other"]),
        (["{folder}/zoo/small.yaml", "zoo/small"], (), ["zoo/small"]),
        (["{folder}/zoo"], (), ["zoo/small"]),
        # `smoke` is the part of the set that every change must pass.
        ([], ["slow"], ["good/full@other"]),
    ],
)
def test_scenarios_are_found_by_name_pattern_file_folder_and_label(
    asked: list[str], labels: list[str], found: list[str], folder: Path
) -> None:
    """The command line takes whatever its user has at hand."""
    asked = [word.format(folder=folder) for word in asked]
    chosen = select(asked, folder=folder, labels=labels)

    assert [scenario.scenario_id for scenario in chosen] == found


def test_issues_of_all_files_are_reported_at_once(folder: Path) -> None:
    """One look at a folder shows everything that must be fixed."""
    for path in folder.rglob("*.yaml"):
        path.write_text(path.read_text().replace("count: 2", "count: 0"))

    with pytest.raises(ScenarioIssuesError) as caught:
        load_folder(folder)

    names = [issue.path.name for issue in caught.value.issues]
    assert names == ["full.yaml", "small.yaml"]


def test_a_name_means_the_users_own_scenario_or_one_of_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who copies a scenario wants the changed one, and keeps the others."""
    monkeypatch.chdir(tmp_path)
    own, ours = Path("scenarios"), find_shipped_folder()

    def meant(*names: str) -> set[Path | None]:
        return {one.path for one in select(names, folder=own)}

    # `stowage run` must do something sensible right after `pip install`.
    assert meant() == set(find_files(ours))
    mine = write_starter("paper/figure-2", own)
    assert meant() == {mine}
    assert meant("paper/figure-1") == {ours / "paper" / "figure-1.yaml"}
    # A mistyped name must not run nothing and pass.
    with pytest.raises(StowageError, match=r"did you mean.*figure-2.*figure-1"):
        meant("paper/figure-3")
    changed = write_starter("paper/figure-1", own)
    assert meant("paper/figure-1") == {changed}
