"""What nodes cost: by label or file, and what is said of those without a price."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from stowage_testbed.errors import InputError
from stowage_testbed.prices import INSTANCE_TYPE, ZONE, Prices, read_prices

SPOT = {"karpenter.sh/capacity-type": "spot"}

YAML = """\
currency: USD
prices:
- {instanceType: m5.large, price: 0.096}
- {instanceType: m5.large, capacityType: spot, price: 0.035}
- {instanceType: m5.large, zone: eu-a, price: "0.1"}
- {instanceType: m5.large, capacityType: spot, zone: eu-a, price: 0.04}
"""

CSV = """\
instanceType,capacityType,zone,price,currency
m5.large,,,0.096,USD
m5.large,spot,,0.035,USD
m5.large,,eu-a,0.1,USD
m5.large,spot,eu-a,0.04,USD
"""


def node(labels: dict[str, str]) -> dict[str, Any]:
    return {"metadata": {"name": "n", "labels": labels}}


def large(**labels: str) -> dict[str, Any]:
    return node({INSTANCE_TYPE: "m5.large", **labels})


@pytest.fixture(params=["prices.yaml", "prices.csv"])
def file(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / str(request.param)
    path.write_text(CSV if path.suffix == ".csv" else YAML)
    return path


@pytest.mark.parametrize(
    ("labels", "price"),
    [
        ({}, "0.096"),
        ({ZONE: "eu-b"}, "0.096"),
        ({ZONE: "eu-a"}, "0.1"),
        (SPOT, "0.035"),
        ({**SPOT, ZONE: "eu-b"}, "0.035"),
        ({**SPOT, ZONE: "eu-a"}, "0.04"),
        ({"eks.amazonaws.com/capacityType": "SPOT"}, "0.035"),
        ({"cloud.google.com/gke-spot": "true"}, "0.035"),
        ({"kubernetes.azure.com/scalesetpriority": "spot"}, "0.035"),
        ({"karpenter.sh/capacity-type": "on-demand"}, "0.096"),
    ],
)
def test_the_most_special_price_counts_as_it_is_written(
    file: Path, labels: dict[str, str], price: str
) -> None:
    """Spot is a third of the price; floats would make it 0.035000000000000003."""
    found = read_prices(file)

    assert found.of(large(**labels)) == Decimal(price)
    assert found.currency == "USD"


@pytest.mark.parametrize(
    ("prices", "labels", "why"),
    [
        (Prices(label="price"), {}, "no label price"),
        (
            Prices(label="price"),
            {"price": "cheap"},
            "label price=cheap: 'cheap' is no number; write what an hour costs, as in "
            "0.192",
        ),
        (Prices(), {}, f"no label {INSTANCE_TYPE}"),
        (Prices(), {INSTANCE_TYPE: "x1"}, "no price for x1"),
        (
            Prices(by_type={("x1", "on-demand", ""): Decimal(1)}),
            {INSTANCE_TYPE: "x1", **SPOT, ZONE: "eu-a"},
            "no price for x1 spot eu-a",
        ),
    ],
)
def test_a_node_without_a_price_says_why(
    prices: Prices, labels: dict[str, str], why: str
) -> None:
    """It is not free; whoever keeps the prices must know what to add."""
    assert prices.of(node(labels)) == why


def test_a_label_has_the_price(file: Path) -> None:
    """Node pools know it best, and it needs no file."""
    assert Prices(label="price").of(node({"price": "0.192"})) == Decimal("0.192")


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("p.yaml", "a: [", ["p.yaml:1: this is not YAML"]),
        ("p.yaml", "- a", ["p.yaml:1: write a mapping with prices"]),
        ("p.yaml", "currency: USD", ["p.yaml:1: there is no price in it"]),
        (
            "p.yaml",
            "prices:\n- {instanceType: a, price: -1}\n- {price: 1}\n- 3\n"
            "- {instanceType: a, price: much, zon: b}\n"
            "- {instanceType: a, price: 1}\n- {instanceType: a, price: 2}\n"
            "- {instanceType: b, price: .nan}\n- {instanceType: b, price: 1e9}\n"
            "- {instanceType: b, price: 1, capacityType: Spot}\n"
            "- {instanceType: [b], price: 1}\nprices: []\n",
            [
                "p.yaml:2: price -1 is no price",
                "p.yaml:3: instanceType missing",
                "p.yaml:4: this is no price",
                "p.yaml:5: 'zon' is not known; known are instanceType",
                "p.yaml:7: a has a price in line 6 already",
                "p.yaml:8: price '.nan' is no number",
                "p.yaml:9: price 1e9 an hour is more than 1,000,000",
                "p.yaml:10: capacityType 'Spot' is not known",
                "p.yaml:11: instanceType is a list",
                "p.yaml:12: 'prices' stands here twice",
            ],
        ),
        ("p.csv", "", ["p.csv:1: there is no price in it"]),
        (
            "p.csv",
            "instanceType,price,cost,currency\na,1,,USD\nb,,,USD\nc,1,,EUR\nd,1,,USD,9\n",
            [
                "p.csv:1: 'cost' is not known",
                "p.csv:3: price missing",
                "p.csv:4: currency EUR, and USD above; a file has one",
                "p.csv:5: there are more cells than names in line 1",
            ],
        ),
    ],
)
def test_every_issue_of_a_file_is_told_with_its_line_and_cause(
    tmp_path: Path, name: str, text: str, said: list[str]
) -> None:
    """Price lists come from spreadsheets and invoices; one issue a try takes long."""
    path = tmp_path / name
    path.write_text(text)

    with pytest.raises(InputError) as error:
        read_prices(path)

    lines = str(error.value).replace(f"{tmp_path}/", "").split("\n")
    assert len(lines) == len(said), lines
    for line, begin in zip(lines, said, strict=True):
        assert line.startswith(begin)


def test_a_file_that_is_not_there_or_no_text_is_an_error_of_the_input(
    tmp_path: Path,
) -> None:
    """A traceback names no way out."""
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\x00")

    for name, why in (("none", "cannot be read"), ("bytes", "no text in UTF-8")):
        with pytest.raises(InputError, match=why):
            read_prices(tmp_path / name)
