"""What is given with a question: prices of nodes, and the values of a release."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from stowage_testbed.base.errors import InputError
from stowage_testbed.whatif.inventory import Inventory
from stowage_testbed.whatif.prices import LABEL, prices_of
from stowage_testbed.whatif.release import Release, release_of

CASES: dict[str, dict[str, Any]] = yaml.safe_load(Path(__file__).with_name("prices.yaml").read_text("utf-8"))
FILES = CASES["files"]


@pytest.mark.parametrize("case", CASES["prices"].values(), ids=CASES["prices"])
def test_a_label_counts_before_the_file_and_that_before_what_was_asked_for(case: list[Any], tmp_path: Path) -> None:
    """Who set a label knew the node; who gave an option knew no node."""
    labels, file, asked, price = case
    path = tmp_path / ("prices.csv" if file == "list" else "prices.yaml")
    path.write_text(FILES.get(file, ""))
    known = prices_of(path if file in FILES else None, asked)
    node = {"kind": "Node", "metadata": {"name": "n", "labels": labels}}
    (priced,) = known.priced(Inventory((node,), ())).nodes
    assert priced["metadata"]["labels"].get(LABEL) == price


@pytest.mark.parametrize(("content", "said"), CASES["refused"].items())
def test_a_senseless_file_is_refused(content: str, said: str, tmp_path: Path) -> None:
    """With what is wrong in it."""
    file = tmp_path / "prices.yaml"
    file.write_text(content)
    with pytest.raises(InputError, match=said):
        prices_of(file)


@pytest.mark.parametrize("text", ["cheap", "pool=spot", "pool=spot:x", "=a:0.1"])
def test_an_option_without_sense_is_refused(text: str) -> None:
    """It costs a run of the optimiser else."""
    with pytest.raises(InputError):
        prices_of(None, [text])


def test_rules_limits_gates_and_pods_are_those_of_the_release(tmp_path: Path) -> None:
    """Values that name no scheduler are of no release yet, which may have either."""
    file = tmp_path / "values.yaml"
    file.write_text(
        "priorityOptimizer: {evictJobs: true, namespaceSelector: {}, limits: "
        "{maxMoves: 7, maxPerNode: 0}}\n"
        "scheduler: {featureGates: {NodeDeclaredFeatures: true}}\nprofile: optimizer\n"
    )

    release = release_of(file)

    assert release.arguments["evictJobs"] is True
    assert "namespaceSelector" not in release.arguments
    assert (release.limit("maxMoves"), release.limit("maxPerNode")) == (7, None)
    assert release.feature_gates == "NodeDeclaredFeatures=true"
    assert release.schedulers == ("default-scheduler", "stowage")
    assert release_of(None).schedulers == ("default-scheduler", "stowage")
    file.write_text("schedulerName: mine\n")
    assert release_of(file).schedulers == ("mine",)


@pytest.mark.parametrize(("asked", "right"), [(None, 5), (9, 5), (2, 2), (0, 5)])
def test_fewer_moves_than_allowed_can_be_asked(asked: int | None, right: int) -> None:
    """None at all is beyond what the plugin's limits can say; the optimiser is told."""
    release = Release(arguments={"limits": {"maxMoves": 5, "maxPerNode": 1}})
    bounded = release.at_most(asked)
    assert (bounded.limit("maxMoves"), bounded.limit("maxPerNode")) == (right, 1)


@pytest.mark.parametrize("text", ["[1, 2]", "priorityOptimizer: true", "a: ["])
def test_what_holds_no_values_is_refused(tmp_path: Path, text: str) -> None:
    """The way out is the command that prints them."""
    file = tmp_path / "values.yaml"
    file.write_text(text)
    with pytest.raises(InputError, match="helm get values"):
        release_of(file)
