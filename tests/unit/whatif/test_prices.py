"""What nodes cost: the label, then the file, then what was asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stowage_testbed.base.errors import InputError
from stowage_testbed.whatif.inventory import Inventory
from stowage_testbed.whatif.prices import LABEL, capacity_type, prices_of

TYPE, ZONE = "node.kubernetes.io/instance-type", "topology.kubernetes.io/zone"
BOUGHT = "karpenter.sh/capacity-type"


def _node(**labels: str) -> dict[str, Any]:
    return {"kind": "Node", "metadata": {"name": "n", "labels": labels}}


def price(labels: dict[str, str], file: Path | None = None, *asked: str) -> str | None:
    """Return the price that a node has in the end, as its label says it."""
    priced = prices_of(file, asked).priced(Inventory((_node(**labels),), ()))
    said: str | None = priced.nodes[0]["metadata"]["labels"].get(LABEL)
    return said


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "prices.csv"
    made.write_text(
        "instanceType, capacityType, zone, price\n"
        "m5.large,,,0.096\n"
        "m5.large,,b,0.107\n"
        "m5.large,spot,,0.0341\n"
        "m5.large,SPOT,b,0.0402\n"
    )
    return made


def test_a_label_counts_before_the_file_and_that_before_what_was_asked_for(
    file: Path,
) -> None:
    """Who set a label knew the node; who gave an option knew no node."""
    large = {TYPE: "m5.large"}

    assert price({**large, LABEL: "0.08"}, file, "0.5") == "0.08"
    assert price(large, file, "0.5") == "0.096"
    assert price({TYPE: "m5.huge"}, file, "0.5") == "0.50"
    assert price({TYPE: "m5.huge"}, file) is None


def test_a_label_that_is_no_price_counts_as_none(file: Path) -> None:
    """The scheduler passes it over, too."""
    assert price({TYPE: "m5.large", LABEL: "cheap"}, file) == "0.096"


def test_the_entry_that_says_more_of_a_node_counts(file: Path) -> None:
    """Zones and spot have prices of their own."""
    assert price({TYPE: "m5.large", ZONE: "b"}, file) == "0.107"
    assert price({TYPE: "m5.large", BOUGHT: "spot"}, file) == "0.0341"
    assert price({TYPE: "m5.large", BOUGHT: "spot", ZONE: "b"}, file) == "0.0402"


def test_a_spot_node_never_has_the_price_of_another(tmp_path: Path) -> None:
    """What would be saved with it would be three times what is."""
    file = tmp_path / "prices.yaml"
    file.write_text("m5.large: 0.096\n")

    assert price({TYPE: "m5.large"}, file) == "0.096"
    assert price({TYPE: "m5.large", "cloud.google.com/gke-spot": "true"}, file) is None


@pytest.mark.parametrize(
    ("labels", "bought"),
    [
        ({}, "on-demand"),
        ({"eks.amazonaws.com/capacityType": "ON_DEMAND"}, "on-demand"),
        ({"eks.amazonaws.com/capacityType": "SPOT"}, "spot"),
        ({"kubernetes.azure.com/scalesetpriority": "regular"}, "on-demand"),
        ({"cloud.google.com/gke-preemptible": "true"}, "spot"),
        ({"karpenter.sh/capacity-type": "reserved"}, "reserved"),
    ],
)
def test_each_cloud_says_in_its_own_way_how_a_node_was_bought(
    labels: dict[str, str], bought: str
) -> None:
    """The prices differ by a factor."""
    assert capacity_type(labels) == bought


def test_prices_are_read_without_a_float_between(tmp_path: Path) -> None:
    """0.1 + 0.2 is no price of a fleet."""
    file = tmp_path / "prices.yaml"
    file.write_text("- {instanceType: m5.large, price: 0.123456, region: eu}\n")
    region = "topology.kubernetes.io/region"

    assert price({TYPE: "m5.large", region: "eu"}, file) == "0.123456"
    assert price({TYPE: "m5.large", region: "us"}, file) is None


def test_a_price_for_some_nodes_counts_before_that_for_all() -> None:
    """The order on the command line does not matter."""
    asked = ("0.10", "pool=spot:0.03")

    assert price({"pool": "spot"}, None, *asked) == "0.03"
    assert price({"pool": "web"}, None, *asked) == "0.10"


def test_nodes_whose_price_the_cluster_lacks_are_told() -> None:
    """A release that is asked to save money must know the same prices."""
    nodes = (_node(pool="spot"), _node(**{LABEL: "0.08"}))

    known = prices_of(None, ["pool:0.03"])

    assert known.not_by_label(Inventory(nodes, ())) == ("n",)


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
def test_a_file_without_sense_is_refused_by_entry(
    content: str, said: str, tmp_path: Path
) -> None:
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
