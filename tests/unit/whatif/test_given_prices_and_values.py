"""What is given with a question: prices of nodes, and the values of a release."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stowage_testbed.base.errors import InputError
from stowage_testbed.whatif.inventory import Inventory
from stowage_testbed.whatif.prices import LABEL, prices_of
from stowage_testbed.whatif.release import Release, release_of

TYPE, ZONE = "node.kubernetes.io/instance-type", "topology.kubernetes.io/zone"
BOUGHT, REGION = "karpenter.sh/capacity-type", "topology.kubernetes.io/region"
LARGE, SPOT = {TYPE: "m5.large"}, {TYPE: "m5.large", BOUGHT: "spot"}
AZURE = "kubernetes.azure.com/scalesetpriority"
CSV = """\
instanceType, capacityType, zone, price
m5.large,,,0.096
m5.large,,b,0.107
m5.large,spot,,0.0341
m5.large,SPOT,b,0.0402
m5.large,reserved,,0.05
"""
YAML = "m5.large: 0.096\n"
EXACT = "- {instanceType: m5.large, price: 0.123456, region: eu}\n"
FOR_SOME = ("0.10", "pool=spot:0.03")


def _node(**labels: str) -> dict[str, Any]:
    return {"kind": "Node", "metadata": {"name": "n", "labels": labels}}


@pytest.mark.parametrize(
    ("labels", "file", "asked", "price"),
    [
        ({**LARGE, LABEL: "0.08"}, CSV, ("0.5",), "0.08"),
        ({**LARGE, LABEL: "cheap"}, CSV, (), "0.096"),
        (LARGE, CSV, ("0.5",), "0.096"),
        ({TYPE: "m5.huge"}, CSV, ("0.5",), "0.50"),
        ({TYPE: "m5.huge"}, CSV, (), None),
        # The entry that says more of a node.
        ({**LARGE, ZONE: "b"}, CSV, (), "0.107"),
        (SPOT, CSV, (), "0.0341"),
        # Each cloud tells it in its way.
        ({**LARGE, "eks.amazonaws.com/capacityType": "ON_DEMAND"}, CSV, (), "0.096"),
        ({**LARGE, "eks.amazonaws.com/capacityType": "SPOT"}, CSV, (), "0.0341"),
        ({**LARGE, AZURE: "regular"}, CSV, (), "0.096"),
        ({**LARGE, "cloud.google.com/gke-preemptible": "true"}, CSV, (), "0.0341"),
        ({**LARGE, BOUGHT: "reserved"}, CSV, (), "0.05"),
        ({**SPOT, ZONE: "b"}, CSV, (), "0.0402"),
        # A spot node never has the price of another.
        (LARGE, YAML, (), "0.096"),
        ({**LARGE, "cloud.google.com/gke-spot": "true"}, YAML, (), None),
        # Without a float between.
        ({**LARGE, REGION: "eu"}, EXACT, (), "0.123456"),
        ({**LARGE, REGION: "us"}, EXACT, (), None),
        # For some nodes before that for all.
        ({"pool": "spot"}, "", FOR_SOME, "0.03"),
        ({"pool": "web"}, "", FOR_SOME, "0.10"),
    ],
)
def test_a_label_counts_before_the_file_and_that_before_what_was_asked_for(
    labels: dict[str, str],
    file: str,
    asked: tuple[str, ...],
    price: str | None,
    tmp_path: Path,
) -> None:
    """Who set a label knew the node; who gave an option knew no node."""
    path = tmp_path / ("prices.csv" if file == CSV else "prices.yaml")
    path.write_text(file)
    known = prices_of(path if file else None, asked)
    (node,) = known.priced(Inventory((_node(**labels),), ())).nodes
    labelled = node["metadata"]["labels"].get(LABEL)
    assert labelled == price


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("m5.large: free", "entry 1: 'free' is not a quantity"),
        ("- {instanceType: m5.large}", "must have instanceType and price"),
        ("- {instanceType: a, price: 1, cost: 2}", "not cost"),
        ("[a", "neither CSV nor YAML"),
        ("5", "has no prices"),
        ("[{instanceType: a, price: 1}, {instanceType: a, price: 2}]", "of another"),
    ],
)
def test_a_senseless_file_is_refused(content: str, said: str, tmp_path: Path) -> None:
    """A price that is passed over is a node without one."""
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
