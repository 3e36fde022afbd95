"""The folder of a comparison, whole, interrupted and broken; and what reads it."""

import gzip
import json
from dataclasses import replace
from pathlib import Path

import pytest
from burst_runs import BurstArm, burst_rounds
from comparisons import a_comparison, write_bundle
from typer.testing import CliRunner

from stowage_testbed.base.errors import InputError
from stowage_testbed.cli import app
from stowage_testbed.compare.comparison import Bundle, BundleMissingError, read_bundle

ARMS = (BurstArm("default"), BurstArm("stowage", service_s=0.012))
RECORDS = burst_rounds(1, ARMS, 2)


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    """Months later there is only this folder; round 10 does not come before round 2."""
    write_bundle(tmp_path, RECORDS[::-1], a_comparison(rounds=2))

    bundle = read_bundle(tmp_path)

    assert bundle == replace(a_comparison(rounds=2), records=tuple(RECORDS), complete=True)
    # Other tools read verdicts without knowing how they are made.
    (judged,) = json.loads((tmp_path / "compare.json").read_text())["verdicts"]
    assert judged["arm"] == "stowage"
    assert judged["verdicts"][0].keys() >= {
        "name", "baseline", "arm", "estimate", "low", "high", "rounds",
    }  # fmt: skip


def test_a_configuration_is_kept_with_its_hash(tmp_path: Path) -> None:
    """A result of another configuration is another result."""
    begun = Bundle.create(tmp_path, a_comparison())
    begun.add_configuration("own", "stowage", "kind: KubeSchedulerConfiguration\n")

    arm = read_bundle(tmp_path).arms[1]
    (file,) = (tmp_path / "configurations").iterdir()

    assert file.read_text() == "kind: KubeSchedulerConfiguration\n"
    assert len(arm.configuration_sha256["own"]) == 64
    file.write_text("kind: Other\n")
    with pytest.raises(InputError, match="not that of its sha256"):
        read_bundle(tmp_path)


def test_a_folder_holds_one_comparison(tmp_path: Path) -> None:
    """Results are dear, files of two have been mixed, and a path is often wrong.

    An arm may have any name that a user gives it, and none leaves the folder.
    """
    folder, name = tmp_path / "bundle", "../../mine: a/b <script>.json"
    (stranger,) = burst_rounds(1, (BurstArm(name),), 1)
    with pytest.raises(InputError, match="stowage compare"):
        run("report", tmp_path)
    code, said = run("compare", "--results", tmp_path, "--save", tmp_path / "baseline.json")
    assert code == 2
    assert "no compare.json" in said
    with pytest.raises(BundleMissingError, match=r"no compare\.json"):
        read_bundle(tmp_path)
    write_bundle(folder, [stranger])
    assert read_bundle(folder).records == (stranger,)
    assert [path.name for path in tmp_path.iterdir()] == ["bundle"]

    with pytest.raises(InputError):
        Bundle.create(folder, a_comparison())
    Bundle.create(tmp_path / "other", a_comparison()).add(stranger)
    with pytest.raises(InputError, match="arm '"):
        read_bundle(tmp_path / "other")


def test_every_broken_file_is_named_at_once(tmp_path: Path) -> None:
    """Mending one after the other takes a call each."""
    write_bundle(tmp_path, RECORDS, a_comparison(rounds=2))
    files = sorted(tmp_path.glob("records/*/*"))
    files[0].write_bytes(files[0].read_bytes()[:100])
    files[1].write_bytes(b"not packed")
    document = json.loads(gzip.decompress(files[2].read_bytes()))
    document["pods"][3]["bound_s"] = "soon"
    files[2].write_bytes(gzip.compress(json.dumps(document).encode()))

    with pytest.raises(InputError) as raised:
        read_bundle(tmp_path)

    message = str(raised.value)
    assert all(file.name in message for file in files[:3])
    assert "`$.pods[3].bound_s`" in message


@pytest.mark.parametrize(
    ("there", "instead", "said"),
    [
        ('compare/v2"', 'compare/v9"', "format 'stowage.dev/compare/v9'"),
        ('"started":', '"begun":', "missing required field"),
        ("name: burst", "name: other", "not that of its sha256"),
    ],
)
def test_a_head_that_was_changed_is_one_clear_issue(tmp_path: Path, there: str, instead: str, said: str) -> None:
    """Records of another version say the same by themselves, two hundred times."""
    write_bundle(tmp_path, RECORDS, a_comparison(rounds=2))
    path = tmp_path / "compare.json"
    path.write_text(path.read_text().replace(there, instead))
    if "format" in said:
        for file in tmp_path.glob("records/*/*"):
            file.write_bytes(gzip.compress(b'{"pods": [{"cpu_milli": 1}]}'))

    with pytest.raises(InputError, match=said) as raised:
        read_bundle(tmp_path)

    issues = [one for one in str(raised.value).split("\n") if one.startswith("  ")]
    assert len(issues) == 1


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("results") / "bundle"
    return write_bundle(folder, burst_rounds(1, ARMS, 5))


def run(*arguments: str | Path) -> tuple[int, str]:
    found = CliRunner().invoke(app, [str(one) for one in arguments])
    if found.exception is not None and not isinstance(found.exception, SystemExit):
        raise found.exception
    return found.exit_code, found.output


def test_a_report_is_rebuilt_from_the_folder_and_goes_where_it_is_wanted(
    bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No cluster, no scheduler, no scenario file: the folder has it all.

    Tables on standard output stand alone, as they are piped on.
    """
    summary, tables = (tmp_path / one for one in ("s.md", "b/t.md"))
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))

    said = run("report", bundle)[1]
    assert "Verdicts against default, own client limits" in said
    assert "worse" in said
    assert (bundle / "report.html").read_text().startswith("<!DOCTYPE html>")
    assert "| scenario |" in (bundle / "report.md").read_text()
    assert "## Verdicts against default" in summary.read_text()

    code, _ = run("report", bundle, "--markdown", tables, "--all")
    piped, said = run("report", bundle, "--markdown", "-")
    assert (code, piped) == (0, 0)
    assert tables.is_file()
    assert said.startswith("# burst/deployment-200\n")
    assert "written:" not in said


def test_an_interrupted_comparison_is_reported_and_gone_on_with(tmp_path: Path) -> None:
    """An hour of runs is not thrown away for the last one."""
    begun = Bundle.create(tmp_path, a_comparison(rounds=2))
    with pytest.raises(InputError, match="resume"):
        run("report", tmp_path)
    for record in RECORDS[:3]:
        begun.add(record)
    assert not read_bundle(tmp_path).complete
    code, said = run("report", tmp_path)
    assert code == 0
    assert "did not come to its end" in said
    assert "round 2: only one arm has run" in said

    resumed = Bundle.resume(tmp_path)
    assert resumed.done == {
        ("own", 1, "default"), ("own", 1, "stowage"), ("own", 2, "default"),
    }  # fmt: skip
    resumed.add(RECORDS[3])
    resumed.finish()
    assert list(read_bundle(tmp_path).records) == RECORDS
    assert read_bundle(tmp_path).complete


def test_a_baseline_that_does_not_hold_exits_with_one(bundle: Path, tmp_path: Path) -> None:
    """CI stops at it; a comparison is no worse than itself."""
    file = tmp_path / "baseline.json"
    slower = [BurstArm(arm.name, service_s=0.05) for arm in ARMS]
    later = write_bundle(tmp_path / "later", burst_rounds(2, slower, 5))
    assert run("compare", "--results", bundle, "--save", file)[0] == 0

    code, said = run("compare", "--results", bundle, "--against", file)
    assert code == 0
    assert "no difference shown" in said
    assert "1.00 times slower" in said

    code, said = run("compare", "--results", later, "--against", file)
    assert code == 1
    assert "worse" in said
