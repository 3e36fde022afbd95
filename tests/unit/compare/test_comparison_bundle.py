"""The folder of a comparison, whole, interrupted and broken."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from burst_runs import BurstArm, burst_rounds
from comparisons import a_comparison, a_result, write_bundle

from stowage_testbed.base.errors import InputError
from stowage_testbed.compare.bundle import BundleFolder, BundleMissingError, read_bundle
from stowage_testbed.metrics.record import RunRecord

ARMS = (BurstArm("default"), BurstArm("stowage"))


@pytest.fixture(scope="module")
def records() -> list[RunRecord]:
    return burst_rounds(1, ARMS, 2)


def test_what_is_written_is_read_back(tmp_path: Path, records: list[RunRecord]) -> None:
    """Months later there is no cluster any more, only this folder.

    In the order of limits, rounds and arms: round 10 does not come before round 2.
    """
    write_bundle(tmp_path, records[::-1], a_comparison(rounds=2))

    bundle = read_bundle(tmp_path)

    assert bundle.comparison == a_comparison(rounds=2)
    assert list(bundle.records) == records
    assert bundle.complete


def test_verdicts_stand_beside_the_runs(
    tmp_path: Path, records: list[RunRecord]
) -> None:
    """Other tools read them without knowing how they are made."""
    write_bundle(tmp_path, records)

    document = json.loads((tmp_path / "compare.json").read_text())

    (judged,) = document["verdicts"]
    assert judged["arm"] == "stowage"
    first = judged["verdicts"][0]
    assert {"name", "baseline", "arm", "estimate", "low", "high", "rounds"} <= {*first}


def test_an_interrupted_comparison_can_be_read_and_gone_on_with(
    tmp_path: Path, records: list[RunRecord]
) -> None:
    """An hour of runs is not thrown away for the last one."""
    begun = BundleFolder.create(tmp_path, a_comparison(rounds=2))
    for record in records[:3]:
        begun.add(record)

    resumed = BundleFolder.resume(tmp_path)
    assert resumed.done == {
        ("own", 1, "default"),
        ("own", 1, "stowage"),
        ("own", 2, "default"),
    }
    assert not read_bundle(tmp_path).complete

    resumed.add(records[3])
    resumed.finish(a_result(records).verdicts)
    assert list(read_bundle(tmp_path).records) == records
    assert read_bundle(tmp_path).complete


def test_a_configuration_is_kept_with_its_hash(
    tmp_path: Path, records: list[RunRecord]
) -> None:
    """A result of another configuration is another result."""
    begun = BundleFolder.create(tmp_path, a_comparison())
    begun.add_configuration("own", "stowage", "kind: KubeSchedulerConfiguration\n")

    arm = read_bundle(tmp_path).comparison.arms[1]

    (file,) = (tmp_path / "configurations").iterdir()
    assert file.read_text() == "kind: KubeSchedulerConfiguration\n"
    assert len(arm.configuration_sha256["own"]) == 64


def test_an_arm_may_have_any_name(tmp_path: Path, records: list[RunRecord]) -> None:
    """A user's own scheduler is named by the user, and no name leaves the folder."""
    name = "../../mine: a/b <script>.json"
    record = burst_rounds(1, (BurstArm(name),), 1)[0]
    write_bundle(tmp_path / "bundle", [record])

    assert read_bundle(tmp_path / "bundle").records == (record,)
    assert [path.name for path in tmp_path.iterdir()] == ["bundle"]


def test_a_second_comparison_does_not_overwrite_the_first(tmp_path: Path) -> None:
    """Results are dear."""
    BundleFolder.create(tmp_path, a_comparison())

    with pytest.raises(InputError):
        BundleFolder.create(tmp_path, a_comparison())


def test_a_folder_without_a_comparison_is_said_to_be_one(tmp_path: Path) -> None:
    """The likeliest mistake is a wrong path."""
    with pytest.raises(BundleMissingError, match=r"no compare\.json"):
        read_bundle(tmp_path)


def test_every_broken_file_is_named_at_once(
    tmp_path: Path, records: list[RunRecord]
) -> None:
    """Mending one after the other takes a call each."""
    write_bundle(tmp_path, records, a_comparison(rounds=2))
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


def test_a_record_of_an_arm_that_was_not_compared_is_an_issue(tmp_path: Path) -> None:
    """Files of two comparisons have been mixed."""
    bundle = BundleFolder.create(tmp_path, a_comparison())
    bundle.add(burst_rounds(1, (BurstArm("stranger"),), 1)[0])

    with pytest.raises(InputError, match="arm 'stranger'"):
        read_bundle(tmp_path)


@pytest.mark.parametrize(
    ("there", "instead", "said"),
    [
        ('compare/v2"', 'compare/v9"', "format 'stowage.dev/compare/v9'"),
        ('"started":', '"begun":', "missing required field"),
        ("name: burst", "name: other", "not that of its sha256"),
    ],
)
def test_a_head_that_was_changed_is_a_clear_issue(
    tmp_path: Path, there: str, instead: str, said: str
) -> None:
    """It may be of a later version, or edited by hand; or its text is another one."""
    BundleFolder.create(tmp_path, a_comparison())
    path = tmp_path / "compare.json"
    path.write_text(path.read_text().replace(there, instead))

    with pytest.raises(InputError, match=said):
        read_bundle(tmp_path)


def test_a_comparison_of_an_older_version_is_refused_in_one_line(
    tmp_path: Path,
) -> None:
    """Its records say the same by themselves, two hundred times."""
    write_bundle(tmp_path, burst_rounds(1, (BurstArm("default"),), 2))
    head = tmp_path / "compare.json"
    head.write_text(head.read_text().replace("compare/v2", "compare/v1"))
    for file in (tmp_path / "records").rglob("*.gz"):
        file.write_bytes(gzip.compress(b'{"pods": [{"cpu_milli": 1}]}'))

    with pytest.raises(InputError) as raised:
        read_bundle(tmp_path)

    issues = [one for one in str(raised.value).split("\n") if one.startswith("  ")]
    assert issues == [
        "  compare.json: format 'stowage.dev/compare/v1', "
        "this reads 'stowage.dev/compare/v2'"
    ]
