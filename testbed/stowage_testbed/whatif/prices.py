"""What nodes cost: by their label, by a file of instance types, or as asked. Nothing is written to the cluster."""

import csv
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from stowage_testbed.amounts.price import exact_price, parse_price
from stowage_testbed.amounts.quantity import QuantityError
from stowage_testbed.api.label_selector import parse_selector, selects
from stowage_testbed.base.errors import InputError
from stowage_testbed.base.files import to_utf8
from stowage_testbed.whatif.inventory import Inventory, labels_of

LABEL = "stowage.dev/hourly-price"

INSTANCE_TYPE = ("node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type")
REGION = ("topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/region")
ZONE = ("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone")
POOL = (
    "karpenter.sh/nodepool",
    "eks.amazonaws.com/nodegroup",
    "cloud.google.com/gke-nodepool",
    "kubernetes.azure.com/agentpool",
    "agentpool",
)
CAPACITY_TYPE = (
    "karpenter.sh/capacity-type",
    "eks.amazonaws.com/capacityType",
    "kubernetes.azure.com/scalesetpriority",
)
OF_SPOT = ("cloud.google.com/gke-spot", "cloud.google.com/gke-preemptible")
"""Labels that are ``true`` on spot nodes, and on no other."""

ON_DEMAND, SPOT = "on-demand", "spot"
_OTHER_NAMES = {"ondemand": ON_DEMAND, "regular": ON_DEMAND}

TYPE, CAPACITY, PRICE = "instanceType", "capacityType", "price"
COLUMNS = (TYPE, CAPACITY, "zone", "region", PRICE)  # Of a file; all but the type and the price may be left out


def first_label(labels: Mapping[str, Any], names: Iterable[str]) -> str:
    """Return the first of some labels that is there; empty if none is."""
    return next((str(labels[name]) for name in names if labels.get(name)), "")


def capacity_type(labels: Mapping[str, Any]) -> str:
    """Return how a node was bought: ``spot``, ``on-demand`` if nothing is said."""
    if any(str(labels.get(name, "")).lower() == "true" for name in OF_SPOT):
        return SPOT
    told = first_label(labels, CAPACITY_TYPE).lower().replace("_", "-")
    return _OTHER_NAMES.get(told, told) or ON_DEMAND


class Kind(NamedTuple):
    """Which nodes a price is of; empty is any, and of capacity types all but spot."""

    instance_type: str
    capacity: str
    zone: str
    region: str

    def holds(self, labels: Mapping[str, Any]) -> bool:
        """Return whether a node of the type is of the kind by its labels."""
        bought = capacity_type(labels)
        return (
            (self.capacity == bought if self.capacity else bought != SPOT)
            and self.region in ("", first_label(labels, REGION))
            and self.zone in ("", first_label(labels, ZONE))
        )


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices beside the nodes' own labels: by instance type, and as asked for, by selector."""

    of_types: Mapping[str, Sequence[tuple[Kind, int]]]
    asked: Sequence[tuple[Mapping[str, Any], int]]

    def priced(self, inventory: Inventory) -> Inventory:
        """Return an inventory whose nodes have the label wherever a price is known.

        Their own, the file's, or one asked for.
        """
        given = self._given(inventory)
        nodes = [
            {**node, "metadata": {**node["metadata"], "labels": {**labels_of(node), LABEL: exact_price(micros)}}}
            if (micros := given.get(node["metadata"]["name"]))
            else node
            for node in inventory.nodes
        ]
        return replace(inventory, nodes=tuple(nodes)) if given else inventory

    def not_by_label(self, inventory: Inventory) -> tuple[str, ...]:
        """Return the nodes that have a price from here, which their cluster lacks."""
        return tuple(map(str, self._given(inventory)))

    def _given(self, inventory: Inventory) -> dict[str, int]:
        """Return the price of each node that tells none itself."""
        given = {}
        for node in inventory.nodes:
            labels = labels_of(node)
            of_type = self.of_types.get(first_label(labels, INSTANCE_TYPE), ())
            known = [micros for kind, micros in of_type if kind.holds(labels)]
            known += [micros for selector, micros in self.asked if selects(selector, labels)]
            if known and not own_price(labels):
                given[node["metadata"]["name"]] = known[0]
        return given


def own_price(labels: Mapping[str, Any]) -> int:
    """Return the price that a node tells itself; 0 if it tells none that is one."""
    try:
        return parse_price(str(labels.get(LABEL, "")))
    except QuantityError:
        return 0


def prices_of(file: Path | None, asked: Sequence[str] = ()) -> Prices:
    """Return the prices of a file and of options, as in ``0.10`` or ``pool=spot:0.03``.

    Raises an InputError for others.
    """
    of_types = defaultdict[str, list[tuple[Kind, int]]](list)
    # Those that say more of a node come first.
    for kind, micros in sorted(_read(file).items() if file else (), key=lambda one: [not part for part in one[0]]):
        of_types[kind.instance_type].append((kind, micros))
    options = list[tuple[Mapping[str, Any], int]]()
    for text in asked:
        selector, _, price = text.rpartition(":")
        try:
            micros = parse_price(price)
        except QuantityError as error:
            raise InputError(f"--price {text}: {error}") from error
        options.append((parse_selector(selector) if selector else {}, micros))
    # Those for some nodes come first.
    return Prices(of_types, sorted(options, key=lambda one: not one[0]))


def _read(path: Path) -> dict[Kind, int]:
    try:
        text = to_utf8(path.read_bytes()).decode()
        rows = list(_rows(path, text))
    except OSError as error:
        raise _no_prices(path, f"cannot be read: {error.strerror}") from error
    except (yaml.YAMLError, csv.Error, UnicodeDecodeError) as error:
        raise _no_prices(path, f"is neither CSV nor YAML ({error})") from error
    found = dict[Kind, int]()
    for number, row in enumerate(rows, 1):
        kind, micros = _price(path, number, row)
        if kind in found:
            raise _no_prices(path, f"entry {number} has the price of another, too")
        found[kind] = micros
    if not found:
        raise _no_prices(path, "has no prices")
    return found


def _rows(path: Path, text: str) -> Iterable[object]:
    if path.suffix.lower() == ".csv":
        return csv.DictReader(text.splitlines(), skipinitialspace=True)
    # Every scalar stays text: a price that went through a float might be another.
    read = yaml.load(text, Loader=yaml.BaseLoader)  # noqa: S506 - it makes text only
    if isinstance(read, dict):
        return [{TYPE: name, PRICE: price} for name, price in read.items()]
    return read if isinstance(read, list) else ()


def _price(path: Path, number: int, row: object) -> tuple[Kind, int]:
    cells = row if isinstance(row, dict) else {}
    unknown = [str(name) for name in cells if name not in COLUMNS]
    told = [str(cells.get(name) or "").strip() for name in COLUMNS]
    name, bought, zone, region, price = told
    if unknown or not (name and price):
        raise _no_prices(
            path,
            f"entry {number} must have {TYPE} and {PRICE}, and may have {CAPACITY}, "
            f"region and zone{f', not {unknown[0]}' if unknown else ''}",
        )
    try:
        micros = parse_price(price)
    except QuantityError as error:
        raise _no_prices(path, f"entry {number}: {error}") from error
    return Kind(name, capacity_type({CAPACITY_TYPE[0]: bought}) if bought else "", zone, region), micros


def _no_prices(path: Path, why: str) -> InputError:
    return InputError(f"{path}: {why}; write entries as in m5.large: 0.096")
