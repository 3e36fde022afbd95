"""`stowage report` and `stowage baseline`, from the folder alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from burst_runs import BurstArm, burst_rounds
from comparisons import write_bundle
from typer.testing import CliRunner

from stowage_testbed.base.errors import InputError
from stowage_testbed.cli import app
from stowage_testbed.compare.bundle import BundleFolder, BundleMissingError

ARMS = (BurstArm("default"), BurstArm("stowage", service_s=0.012))


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("results") / "bundle"
    return write_bundle(folder, burst_rounds(1, ARMS, 5))


def run(*arguments: str | Path) -> tuple[int, str]:
    found = CliRunner().invoke(app, [str(one) for one in arguments])
    if found.exception is not None and not isinstance(found.exception, SystemExit):
        raise found.exception
    return found.exit_code, found.output


def test_a_report_is_rebuilt_from_the_folder(
    bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No cluster, no scheduler, no scenario file: the folder has it all."""
    summary = tmp_path / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))

    code, said = run("report", bundle)

    assert code == 0
    assert "Verdicts against default, own client limits" in said
    assert "worse" in said
    assert (bundle / "report.html").read_text().startswith("<!DOCTYPE html>")
    assert "| scenario |" in (bundle / "report.md").read_text()
    assert "## Verdicts against default" in summary.read_text()


def test_a_report_goes_where_it_is_wanted(bundle: Path, tmp_path: Path) -> None:
    """Folders that do not exist yet are made."""
    page, tables = tmp_path / "a" / "page.html", tmp_path / "b" / "tables.md"

    code, _ = run("report", bundle, "--html", page, "--markdown", tables, "--all")

    assert code == 0
    assert page.is_file()
    assert tables.is_file()


def test_the_tables_on_standard_output_stand_alone(bundle: Path) -> None:
    """They are piped on; every metric is among them."""
    code, said = run("report", bundle, "--markdown", "-")

    assert code == 0
    assert said.startswith("# burst/deployment-200\n")
    assert "written:" not in said


def test_an_interrupted_comparison_is_reported_as_such(tmp_path: Path) -> None:
    """What was measured before the power went is worth looking at."""
    records = burst_rounds(1, ARMS, 2)
    whole = write_bundle(tmp_path / "whole", records)
    begun = BundleFolder.create(
        tmp_path / "begun", BundleFolder.resume(whole).comparison
    )
    for record in records[:3]:
        begun.add(record)

    code, said = run("report", tmp_path / "begun")

    assert code == 0
    assert "did not come to its end" in said
    assert "round 2: only one arm has run" in said


def test_a_wrong_folder_and_an_empty_one_are_clear_issues(
    bundle: Path, tmp_path: Path
) -> None:
    """Both have a way out, and it is in the message."""
    with pytest.raises(InputError, match="stowage compare"):
        run("report", tmp_path)
    with pytest.raises(BundleMissingError, match="stowage compare"):
        run("baseline", "save", tmp_path, tmp_path / "baseline.json")
    BundleFolder.create(tmp_path, BundleFolder.resume(bundle).comparison)
    with pytest.raises(InputError, match="resume"):
        run("report", tmp_path)


def test_a_baseline_that_does_not_hold_exits_with_one(
    bundle: Path, tmp_path: Path
) -> None:
    """CI stops at it; a comparison is no worse than itself."""
    file = tmp_path / "baseline.json"
    slower = [BurstArm(arm.name, service_s=0.05) for arm in ARMS]
    later = write_bundle(tmp_path / "later", burst_rounds(2, slower, 5))
    assert run("baseline", "save", bundle, file)[0] == 0

    code, said = run("baseline", "check", bundle, file)
    assert code == 0
    assert "no difference shown" in said
    assert "1.00 times slower" in said

    code, said = run("baseline", "check", later, file)

    assert code == 1
    assert "worse" in said
