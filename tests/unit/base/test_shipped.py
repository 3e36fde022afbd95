"""What a wheel holds is what a checkout has, and is found in the same way."""

from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder

from stowage_testbed.base import layout
from stowage_testbed.helm.install import CHART
from stowage_testbed.toolchain.location import tool_inputs
from stowage_testbed.toolchain.manifest import built_minors, load_manifest

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def wheel() -> dict[str, Path]:
    """Return the files of the wheel: where they come from, by where they go."""
    builder = WheelBuilder(str(ROOT))
    return {file.distribution_path: Path(file.path) for file in builder.recurse_included_files()}


def test_a_checkout_ships_its_own_folders_and_a_package_its_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who edits the chart tests no copy; site-packages belong to others."""
    assert layout.checkout() == ROOT
    assert layout.shipped("scenarios") == ROOT / "scenarios"

    (tmp_path / "scenarios").mkdir()
    monkeypatch.setattr(layout, "_DATA", tmp_path)

    assert layout.checkout() is None
    assert layout.shipped("scenarios") == tmp_path / "scenarios"


@pytest.mark.parametrize("name", ["stowage-scheduler", "stowage-simulate"])
def test_the_wheel_has_what_tools_are_built_from(name: str, wheel: dict[str, Path]) -> None:
    """The key of both is one, so that the cache serves both."""
    tools = [load_manifest().tool(name, minor) for minor in built_minors()]
    folder = tools[0].folder
    inside = {
        str(Path(path).relative_to("stowage_testbed/_data/scheduler"))
        for path in wheel
        if path.startswith("stowage_testbed/_data/scheduler/")
    }

    wanted = {file for tool in tools for file in tool_inputs(tool)}
    assert inside == {str(file.relative_to(folder)) for file in wanted}


@pytest.mark.parametrize(
    ("folder", "suffixes"),
    [
        # A name that the documentation speaks of must be found everywhere.
        (ROOT / "scenarios", {".yaml", ".jsonl", ".json"}),
        # Helm reads files that no Python import names.
        (CHART, None),
    ],
    ids=["scenarios", "chart"],
)
def test_the_wheel_has_a_whole_folder(wheel: dict[str, Path], folder: Path, suffixes: set[str] | None) -> None:
    """Each for the reason above it."""
    data = "stowage_testbed/_data"
    top = f"{data}/{folder.relative_to(ROOT).parts[0]}/"
    files = [file for file in folder.rglob("*") if file.is_file()]

    assert {path for path in wheel if path.startswith(top)} == {
        f"{data}/{file.relative_to(ROOT)}" for file in files if suffixes is None or file.suffix in suffixes
    }


def test_the_wheel_has_the_modules_of_every_other_tool(wheel: dict[str, Path]) -> None:
    """`stowage tools install` builds from their go.mod and go.sum."""
    testbed = ROOT / "testbed"
    tools = [one for one in load_manifest().all_tools if testbed in one.folder.parents]
    files = {file for tool in tools for file in tool_inputs(tool)}

    assert {str(file.relative_to(testbed)) for file in files} <= set(wheel)
