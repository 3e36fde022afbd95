"""A PackingPolicy as a file, and the arms it is tried with."""

from pathlib import Path

import pytest
import yaml

from stowage_testbed.base.errors import InputError
from stowage_testbed.policyday.policy import Opening, configured, find_arm, read_policy
from stowage_testbed.simulate.process import find_profile

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
