"""What the user of what-if sets: a release by its values, limits on plans, and what nodes cost.

Prices are by the nodes' label, by a file of instance types, or as asked. Nothing is written to the cluster.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.amounts.price import exact_price, parse_price
from stowage_testbed.amounts.resources import QuantityError
from stowage_testbed.api.label_selector import both, parse_selector, selects
from stowage_testbed.base import layout
from stowage_testbed.base.errors import InputError
from stowage_testbed.base.files import read_text
from stowage_testbed.whatif.inventory import STOCK_NAME, Inventory, labels_of

LIMITS = {
    "maxMoves": "move",
    "maxEvictions": "eviction",
    "maxPerNode": "disruption of a node",
    "maxPerNamespace": "disruption of a namespace",
    "maxPerWorkload": "disruption of a workload",
}
"""The limits on one plan, and what each counts."""

_POLICIES = {"Strict": pb.POLICY_STRICT, "Paper": pb.POLICY_PAPER}


@dataclass(frozen=True, slots=True)
class Release:
    """What a release does with pods: those of its schedulers, by its plugin's arguments and gates."""

    schedulers: tuple[str, ...] = (STOCK_NAME,)
    arguments: Mapping[str, Any] = field(default_factory=dict)
    feature_gates: str = ""

    @property
    def policy(self) -> pb.Policy:
        """The optimiser's policy; strict, if the release names none."""
        return _POLICIES.get(self.arguments.get("policy", ""), pb.POLICY_STRICT)

    def limits(self) -> dict[str, int]:
        """Return those of the `LIMITS` that there are."""
        given = self.arguments.get("limits")
        values = given if isinstance(given, Mapping) else {}
        return {name: value for name in LIMITS if isinstance(value := values.get(name), int) and value > 0}

    def narrowed(self, schedulers: Sequence[str], namespaces: Mapping[str, Any] | None) -> Release:
        """Return the release for pods of these schedulers, if any, and of the namespaces that a selector selects."""
        arguments = self.arguments
        if namespaces:
            selector = both(arguments.get("namespaceSelector") or {}, namespaces)
            arguments = {**arguments, "namespaceSelector": selector}
        return replace(self, schedulers=tuple(dict.fromkeys(schedulers)) or self.schedulers, arguments=arguments)


@dataclass(frozen=True, slots=True)
class PlanLimits:
    """What plans may do, and how long the answer may take; ``max_moves`` counts if the release allows as many."""

    time_limit_s: float = 10.0
    max_moves: int | None = None
    release: Release = field(default_factory=Release)

    def bounds(self) -> dict[str, int]:
        """Return the limits on a plan, by the names that the release has for them."""
        limits = self.release.limits()
        if self.max_moves is not None:
            limits["maxMoves"] = min(self.max_moves, limits.get("maxMoves", self.max_moves))
        return limits

    def arguments(self) -> Mapping[str, Any]:
        """Return the plugin's arguments with these limits; that no pod may move is beyond what they can say."""
        given = self.release.arguments
        if not self.max_moves:
            return given
        return {**given, "limits": {**(given.get("limits") or {}), "maxMoves": self.bounds()["maxMoves"]}}

    def words(self) -> tuple[str, ...]:
        """Return the limits on a plan, in words."""
        return tuple(f"with at most {limit_in_words(name, limit)}" for name, limit in self.bounds().items())


def limit_in_words(name: str, limit: int) -> str:
    """Return a limit as in ``2 moves``."""
    return f"{limit:,} {LIMITS[name]}{'' if limit == 1 else 's'}"


def release_of(path: Path | None) -> Release:
    """Return the release that has these values; without a scheduler in them, one for the stock name and the chart's.

    Raises an InputError if the file is not YAML, or holds something else than values.
    """

    def mapping(value: object, name: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise _no_values(path, f"has no mapping {name}")
        return value

    given: object = {}
    try:
        if path:
            given = yaml.safe_load(read_text(path)) or {}
    except OSError as error:
        raise _no_values(path, f"cannot be read: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise _no_values(path, f"is not YAML ({error})") from error
    values = mapping(given, "values")
    arguments = dict(mapping(values.get("priorityOptimizer") or {}, "priorityOptimizer"))
    if not arguments.get("namespaceSelector"):
        # The chart leaves out an empty one, which means all namespaces.
        arguments.pop("namespaceSelector", None)
    name = values.get("schedulerName")
    scheduler = mapping(values.get("scheduler") or {}, "scheduler")
    gates = mapping(scheduler.get("featureGates") or {}, "featureGates")
    chart = yaml.safe_load((layout.shipped("charts") / "stowage" / "values.yaml").read_text(encoding="utf-8"))
    return Release(
        schedulers=(str(name),) if name else (STOCK_NAME, str(chart["schedulerName"])),
        arguments=arguments,
        feature_gates=",".join(f"{gate}={str(on).lower()}" for gate, on in gates.items()),
    )


def _no_values(path: Path | None, why: str) -> InputError:
    return InputError(f"{path}: {why}; make it with: helm get values --all -o yaml stowage --namespace stowage-system")


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
        """Return an inventory whose nodes have the label wherever a price is known."""
        given = self.by_node(inventory)
        nodes = [
            {**node, "metadata": {**node["metadata"], "labels": {**labels_of(node), LABEL: exact_price(micros)}}}
            if (micros := given.get(node["metadata"]["name"]))
            else node
            for node in inventory.nodes
        ]
        return replace(inventory, nodes=tuple(nodes)) if given else inventory

    def by_node(self, inventory: Inventory) -> dict[str, int]:
        """Return the price from here of each node whose own label tells none."""
        given = dict[str, int]()
        for node in inventory.nodes:
            labels = labels_of(node)
            of_type = self.of_types.get(first_label(labels, INSTANCE_TYPE), ())
            known = [micros for kind, micros in of_type if kind.holds(labels)]
            known += [micros for selector, micros in self.asked if selects(selector, labels)]
            if known and not own_price(labels):
                given[str(node["metadata"]["name"])] = known[0]
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
    rows: Iterable[object]
    try:
        text = read_text(path)
        if path.suffix.lower() == ".csv":
            rows = list(csv.DictReader(text.splitlines(), skipinitialspace=True))
        else:
            # Every scalar stays text: a price that went through a float might be another.
            read = yaml.load(text, Loader=yaml.BaseLoader)  # noqa: S506 - it makes text only
            rows = read if isinstance(read, list) else ()
            if isinstance(read, dict):
                rows = [{TYPE: name, PRICE: price} for name, price in read.items()]
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
