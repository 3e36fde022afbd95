"""What a node costs an hour: by a label of its own, or by a file of prices.

A price is exact, as it is written: sums of thousands of nodes are not to drift, and a
proved limit is compared with them.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import yaml

from stowage_testbed.errors import InputError

HOURS_A_MONTH = 730
"""365 days of 24 hours, over twelve months, as the clouds count."""

INSTANCE_TYPE = "node.kubernetes.io/instance-type"
ZONE = "topology.kubernetes.io/zone"

SPOT, ON_DEMAND = "spot", "on-demand"
CAPACITY_TYPES = (
    ("karpenter.sh/capacity-type", {"spot": SPOT, "on-demand": ON_DEMAND}),
    ("eks.amazonaws.com/capacityType", {"SPOT": SPOT, "ON_DEMAND": ON_DEMAND}),
    ("cloud.google.com/gke-provisioning", {"spot": SPOT, "standard": ON_DEMAND}),
    ("cloud.google.com/gke-spot", {"true": SPOT}),
    ("kubernetes.azure.com/scalesetpriority", {"spot": SPOT, "regular": ON_DEMAND}),
)
"""Labels by which node pools say so, and what their values mean."""

TYPE_KEY, CAPACITY_KEY, ZONE_KEY, PRICE_KEY = (
    "instanceType",
    "capacityType",
    "zone",
    "price",
)
_KEYS = (TYPE_KEY, CAPACITY_KEY, ZONE_KEY, PRICE_KEY)
_CURRENCY, _PRICES = "currency", "prices"
_MOST = Decimal(10) ** 6
"""An hour; what is above is a month's price in the wrong place, or a slip."""

_FINEST = 9
"""Digits after the point."""

_LIKE = f"{{{TYPE_KEY}: m5.large, {PRICE_KEY}: 0.096}}"

Sort = tuple[str, str, str]
"""Instance type, capacity type and zone; the last two may be empty, for any."""


@dataclass(frozen=True, slots=True)
class Prices:
    """Where prices come from.

    Attributes
    ----------
    currency
        Of every price; empty where nobody says.
    label
        The label that has a node's price; empty if ``by_type`` has them.
    by_type
        Prices an hour.
    """

    currency: str = ""
    label: str = ""
    by_type: Mapping[Sort, Decimal] = field(default_factory=dict)

    def of(self, node: Mapping[str, Any]) -> Decimal | str:
        """Return a node's price an hour, or in words why it has none.

        Of the prices of its instance type the one for its capacity type and zone counts
        first, then that for its capacity type, then that for its zone.
        """
        labels = node["metadata"].get("labels") or {}
        if self.label:
            return self._by_label(labels)
        kind = str(labels.get(INSTANCE_TYPE) or "")
        if not kind:
            return f"no label {INSTANCE_TYPE}"
        capacity, zone = capacity_type(labels), str(labels.get(ZONE) or "")
        for sort in ((capacity, zone), (capacity, ""), ("", zone), ("", "")):
            price = self.by_type.get((kind, *sort))
            if price is not None:
                return price
        of_kind = (
            [capacity, zone] if any(kind == one for one, _, _ in self.by_type) else []
        )
        return f"no price for {' '.join(filter(None, [kind, *of_kind]))}"

    def _by_label(self, labels: Mapping[str, str]) -> Decimal | str:
        text = labels.get(self.label)
        if text is None:
            return f"no label {self.label}"
        price = _price(str(text))
        return (
            f"label {self.label}={text}: {price}" if isinstance(price, str) else price
        )


def capacity_type(labels: Mapping[str, str]) -> str:
    """Return ``spot`` or ``on-demand``, as a node's labels say, or nothing."""
    for label, meanings in CAPACITY_TYPES:
        meant = meanings.get(labels.get(label, ""))
        if meant:
            return meant
    return ""


def read_prices(path: Path) -> Prices:
    """Return the prices of a file: CSV by its name, else YAML.

    Raises
    ------
    InputError
        It cannot be read, or something in it is wrong; every issue is told with its
        line.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is no text in UTF-8 ({error.reason})") from error
    reader = _CsvFile() if path.suffix.lower() == ".csv" else _YamlFile()
    reader.read(text)
    if not reader.issues and not reader.by_type:
        reader.issue(1, f"there is no price in it; add one, as in {_LIKE}")
    if reader.issues:
        said = sorted(reader.issues, key=lambda one: one[0])
        raise InputError("\n".join(f"{path}:{line}: {why}" for line, why in said))
    return Prices(reader.currency, by_type=reader.by_type)


def _price(text: str) -> Decimal | str:
    """Return a price, or why the text is none."""
    try:
        price = Decimal(text)
    except InvalidOperation:
        return f"{text!r} is no number; write what an hour costs, as in 0.192"
    if not price.is_finite() or price < 0:
        return f"{text} is no price; write what an hour costs, as in 0.192"
    if price > _MOST:
        return f"{text} an hour is more than {_MOST:,}; prices are for one hour"
    if price != round(price, _FINEST):
        return f"{text} has more than {_FINEST} digits after the point"
    return price


@dataclass(slots=True)
class _File:
    """What has been read of a file, and what is wrong with it, by line."""

    currency: str = ""
    by_type: dict[Sort, Decimal] = field(default_factory=dict)
    issues: list[tuple[int, str]] = field(default_factory=list)
    _lines: dict[Sort, int] = field(default_factory=dict)

    def issue(self, line: int, why: str) -> None:
        self.issues.append((line, why))

    def add(self, line: int, entry: Mapping[str, str]) -> None:
        """Take an entry: texts by key, empty ones left out."""
        missing = [key for key in (TYPE_KEY, PRICE_KEY) if not entry.get(key)]
        if missing:
            self.issue(line, f"{' and '.join(missing)} missing; write {_LIKE}")
            return
        capacity = entry.get(CAPACITY_KEY, "")
        if capacity not in ("", SPOT, ON_DEMAND):
            self.issue(
                line,
                f"{CAPACITY_KEY} {capacity!r} is not known; write {SPOT} or "
                f"{ON_DEMAND}, or leave it out for both",
            )
        price = _price(entry[PRICE_KEY])
        if isinstance(price, str):
            self.issue(line, f"{PRICE_KEY} {price}")
            return
        sort = (entry[TYPE_KEY], capacity, entry.get(ZONE_KEY, ""))
        if sort in self._lines:
            name = " ".join(filter(None, sort))
            self.issue(
                line,
                f"{name} has a price in line {self._lines[sort]} already; keep one",
            )
            return
        self._lines[sort], self.by_type[sort] = line, price

    def unknown(self, line: int, names: Iterable[str], known: Sequence[str]) -> None:
        for name in names:
            if name not in known:
                self.issue(line, f"{name!r} is not known; known are {', '.join(known)}")


class _CsvFile(_File):
    """A row for each price; every row has the same currency, if there is one."""

    def read(self, text: str) -> None:
        rows = csv.DictReader(text.splitlines(), restkey="", strict=True)
        try:
            names = [str(name).strip() for name in rows.fieldnames or ()]
            self.unknown(1, names, (*_KEYS, _CURRENCY))
            rows.fieldnames = names
            for row in rows:
                self._row(rows.line_num, row)
        except csv.Error as error:
            self.issue(rows.line_num, f"this is not CSV: {error}")

    def _row(self, line: int, row: Mapping[str, Any]) -> None:
        if "" in row:
            self.issue(line, "there are more cells than names in line 1")
            return
        entry = {name: (cell or "").strip() for name, cell in row.items()}
        currency = entry.pop(_CURRENCY, "")
        if self.by_type and currency != self.currency:
            self.issue(
                line,
                f"{_CURRENCY} {currency or 'missing'}, and {self.currency or 'none'} "
                "above; a file has one",
            )
        self.currency = self.currency or currency
        self.add(line, entry)


class _YamlFile(_File):
    """A mapping with a currency and a list of prices."""

    def read(self, text: str) -> None:
        try:
            root = yaml.compose(text, Loader=yaml.SafeLoader)
        except yaml.MarkedYAMLError as error:
            line = error.problem_mark.line + 1 if error.problem_mark else 1
            self.issue(line, f"this is not YAML: {error.problem}")
            return
        except yaml.reader.ReaderError as error:
            line = text.count("\n", 0, error.position) + 1
            self.issue(line, f"this is not text: {error.reason}")
            return
        if not isinstance(root, yaml.MappingNode):
            self.issue(1, f"write a mapping with {_PRICES}, a list, and {_CURRENCY}")
            return
        for key, value in self._pairs(root, (_CURRENCY, _PRICES)):
            if key == _CURRENCY:
                self.currency = self._text(key, value)
            elif isinstance(value, yaml.SequenceNode):
                for entry in value.value:
                    self._entry(entry)
            else:
                self.issue(_line(value), f"{_PRICES} is no list; write {_LIKE} in one")

    def _entry(self, entry: yaml.Node) -> None:
        if not isinstance(entry, yaml.MappingNode):
            self.issue(_line(entry), f"this is no price; write {_LIKE}")
            return
        before = len(self.issues)
        texts = {key: self._text(key, one) for key, one in self._pairs(entry, _KEYS)}
        if len(self.issues) == before:
            self.add(_line(entry), texts)

    def _pairs(
        self, mapping: yaml.MappingNode, known: Sequence[str]
    ) -> Iterator[tuple[str, yaml.Node]]:
        seen = set[str]()
        for key, value in mapping.value:
            name = str(key.value)
            self.unknown(_line(key), (name,), known)
            if name in seen:
                self.issue(_line(key), f"{name!r} stands here twice; keep one")
            elif name in known:
                yield name, value
            seen.add(name)

    def _text(self, key: str, node: yaml.Node) -> str:
        if isinstance(node, yaml.ScalarNode):
            return str(node.value).strip()
        self.issue(_line(node), f"{key} is a list or a mapping; write one value")
        return ""


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1
