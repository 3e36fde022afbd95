"""A PackingPolicy as a file, its windows on a day, and the arms it is tried with."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest
import yaml

from stowage_testbed.base.errors import InputError
from stowage_testbed.policyday.policy import Opening, Policy, read_policy
from stowage_testbed.policyday.trial import configured, find_arm
from stowage_testbed.simulate import find_profile

POLICY = """\
apiVersion: stowage.dev/v1alpha1
kind: PackingPolicy
metadata: {name: nightly}
spec:
  windows: [{schedule: "0 2 * * *", timeZone: Europe/Berlin, durationSeconds: 7200}]
  maxMovesPerWindow: 40
  coolDownSeconds: 86400
"""


def test_a_policy_is_read_as_the_cluster_takes_it(tmp_path: Path) -> None:
    """The same file is applied afterwards."""
    file = tmp_path / "policy.yaml"
    file.write_text(POLICY)

    read = read_policy(file)

    assert read.openings == (Opening("0 2 * * *", 7200, "Europe/Berlin"),)
    assert (read.name, read.max_moves, read.cool_down_s) == ("nightly", 40, 86400)
    assert read.schedulers == ()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("kind: Pod", "holds no PackingPolicy"),
        ("{", "is not YAML"),
        (POLICY.replace("durationSeconds: 7200", "x: 1"), "durationSeconds"),
        (POLICY.replace('schedule: "0 2 * * *", ', ""), "schedule"),
    ],
)
def test_what_is_no_policy_is_told(tmp_path: Path, text: str, said: str) -> None:
    """Before minutes are spent on a day."""
    file = tmp_path / "policy.yaml"
    file.write_text(text)

    with pytest.raises(InputError, match=said):
        read_policy(file)


def test_an_arm_that_is_not_there_is_told_with_those_that_are() -> None:
    """Names are long, and typed by hand."""
    with pytest.raises(InputError, match="none, none-most-allocated, high-node"):
        find_arm("low-node-utilization")


def test_most_allocated_is_the_same_profile_with_other_scores() -> None:
    """Whatever else differs would be compared, too."""
    profile = find_profile("deterministic")

    with configured(find_arm("none-most-allocated"), profile) as file:
        made = yaml.safe_load(file.read_text())
    (scoring,) = made["profiles"][0].pop("pluginConfig")

    assert scoring["args"]["scoringStrategy"]["type"] == "MostAllocated"
    assert made == yaml.safe_load(profile.read_text())


def windows(*openings: Opening, began: str = "2026-01-05", hours: float = 24) -> list[tuple[float, float]]:
    """Return when windows are open, in hours of a day that is a Monday by default."""
    begin = datetime.fromisoformat(f"{began}T00:00:00Z")
    found = Policy(openings).windows(begin, hours * 3600)
    return [(one.start_s / 3600, one.end_s / 3600) for one in found]


def test_a_window_follows_the_clock_of_its_time_zone_and_ends_with_the_day() -> None:
    """A night window is at night where the cluster's users are, in summer too."""
    nightly = Opening("0 2 * * *", 7200, "Europe/Berlin")

    assert windows(nightly) == [(1, 3)]
    assert windows(nightly, began="2026-07-06") == [(0, 2)]
    assert windows(Opening("0 23 * * *", 7200)) == [(23, 24)]


@pytest.mark.parametrize(
    ("schedule", "hours"),
    [
        ("0 */8 * * *", [0, 8, 16]),
        ("30 1-3 * * *", [1.5, 2.5, 3.5]),
        ("0 5,7 * * mon-fri", [5, 7]),
        ("0 5 * * 0,6", []),
        ("0 5 5 jan *", [5]),
        # Either day is enough where both are told.
        ("0 5 13 * 1", [5]),
        ("0 5 13 * *", []),
        ("0 22/1 * * *", [22, 23]),
        ("@daily", [0]),
        # A star with a step is none: the 5th is an odd day, and Monday is enough. Saturday is neither.
        ("0 5 */2 * 6", [5]),
        ("0 5 2/2 * */6", []),
        ("0 5 2/2 * */1", []),
    ],
)
def test_a_schedule_is_read_as_cron_reads_it(schedule: str, hours: list[float]) -> None:
    """The cluster's own controller opens windows by the same five fields."""
    assert [begin for begin, _ in windows(Opening(schedule, 60))] == hours


def test_a_window_goes_on_although_others_begin() -> None:
    """As in the cluster, where one window follows another and none is in another."""
    often, long = Opening("0 * * * *", 1800), Opening("0 1 * * *", 9000)

    assert windows(often, long, hours=5) == [(0, 0.5), (1, 3.5), (4, 4.5)]


@pytest.mark.parametrize(
    ("opening", "said"),
    [
        (Opening("0 2 * *", 60), "five fields"),
        (Opening("0 25 * * *", 60), "not between 0 and 23"),
        (Opening("0 x * * *", 60), "five fields"),
        (Opening("0 2 * * 7", 60), "not between 0 and 6"),
        (Opening("*/0 2 * * *", 60), "step of 0"),
        (Opening("@every 1h", 60), "when the scheduler began"),
        (Opening("TZ=UTC 0 2 * * *", 60), "write it as timeZone"),
        (Opening("0 2 * * *", 60, "Mars/Base"), "no time zone 'Mars/Base'"),
    ],
)
def test_what_is_no_schedule_is_told(opening: Opening, said: str) -> None:
    """The condition Accepted would say so in the cluster."""
    with pytest.raises(InputError, match=said):
        windows(opening)


def test_windows_that_never_open_are_told() -> None:
    """The controller takes such a schedule, and nothing ever happens."""
    said: list[str] = []
    policy = Policy((Opening("0 0 30 2 *", 60), Opening("0 0 29 2 *", 60)), name="leap")

    assert policy.windows(datetime.fromisoformat("2026-01-05T00:00:00Z"), 3600, said.append) == ()

    never, none = said
    assert never.startswith("windows[0]: schedule '0 0 30 2 *' never opens")
    assert none == "no window of policy leap opens within the 1.00 h of the trace"
