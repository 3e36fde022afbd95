"""Which devices the expressions of device classes and claims select, in CEL as Kubernetes has it for devices."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING, Any

from stowage_testbed.amounts.resources import amount

if TYPE_CHECKING:
    import cel

_TEXT = r"""(?:"([^"\\]*)"|'([^'\\]*)')"""
_DOMAIN = rf"device\.(attributes|capacity)\[{_TEXT}\]"
_READ = re.compile(rf"{_DOMAIN}(?:\.(\w+)(?![\w(])|\[{_TEXT}\])")
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "quantity": lambda text: f"quantity {amount(text).normalize()}",
    "semver": lambda text, *_: f"version {text}",
    "compareTo": lambda one, other: (_key(one) > _key(other)) - (_key(one) < _key(other)),
    "isGreaterThan": lambda one, other: _key(one) > _key(other),
    "isLessThan": lambda one, other: _key(one) < _key(other),
    "asInteger": lambda one: int(_key(one)),
    "major": lambda one: _key(one)[0][0],
    "minor": lambda one: _key(one)[0][1],
    "patch": lambda one: _key(one)[0][2],
    "lowerAscii": str.lower,
}
"""What Kubernetes adds to the language. A quantity and a version are texts that say what they are."""


def make_view(
    driver: str, attributes: Mapping[str, Mapping[str, Any]], capacity: Mapping[str, str], *, shared: bool
) -> Mapping[str, Any]:
    """Return a device as expressions read it; attributes are as in Kubernetes, of capacity there are quantities."""
    view: dict[str, dict[str, dict[str, Any]]] = {"attributes": {}, "capacity": {}}
    for name, typed in attributes.items():
        [(type_, value)] = typed.items()
        domain, own = _split(name, driver)
        view["attributes"].setdefault(domain, {})[own] = f"version {value}" if type_ == "version" else value
    for name, quantity in capacity.items():
        domain, own = _split(name, driver)
        view["capacity"].setdefault(domain, {})[own] = _FUNCTIONS["quantity"](quantity)
    return {"driver": driver, "allowMultipleAllocations": shared, **view}


def is_selected(view: Mapping[str, Any], expression: str) -> bool | None:
    """Return whether an expression selects a device; None where it cannot be evaluated here.

    Not all of the language is at hand, such as optional fields and `cel.bind`.
    """
    return _make_selector(expression).find(view)


@dataclass(frozen=True, slots=True)
class _Selector:
    program: cel.Program | None
    domains: tuple[tuple[str, str], ...]
    """Those that it names, of attributes and of capacities; a device that lacks one has an empty map there."""
    reads: tuple[tuple[str, str, str], ...] | None
    """The attributes and capacities that it reads, by domain and name; None if that may be any."""
    answers: dict[Any, bool | None] = field(default_factory=dict)

    def find(self, view: Mapping[str, Any]) -> bool | None:
        key = self._find_key(view)
        if key not in self.answers:
            self.answers[key] = self._evaluate(view)
        return self.answers[key]

    def _find_key(self, view: Mapping[str, Any]) -> Any:
        """Return all that the answer depends on: the devices of a fleet mostly differ in a number that nobody reads."""
        if self.reads is None:
            return repr(view)
        read = (view[what].get(domain, {}).get(name) for what, domain, name in self.reads)
        # 1 and true are equal.
        return (view["driver"], view["allowMultipleAllocations"], *map(repr, read))

    def _evaluate(self, view: Mapping[str, Any]) -> bool | None:
        import cel  # noqa: PLC0415 - it brings a shell, which takes a third as long to import as all else

        if self.program is None:
            return None
        maps = {what: dict(view[what]) for what in ("attributes", "capacity")}
        for what, domain in self.domains:
            maps[what].setdefault(domain, {})
        try:
            answer = self.program.execute(cel.Context({"device": {**view, **maps}}, _FUNCTIONS))
        except KeyError:
            return False
        except (ValueError, RuntimeError, IndexError, TypeError):
            return None
        return answer if isinstance(answer, bool) else None


@cache
def _make_selector(expression: str) -> _Selector:
    import cel  # noqa: PLC0415 - as in `_evaluate`

    try:
        program = cel.compile(expression)
    except ValueError:
        return _Selector(None, (), ())
    domains = [(found[1], found[2] or found[3] or "") for found in re.finditer(_DOMAIN, expression)]
    reads = [
        (found[1], found[2] or found[3] or "", found[4] or found[5] or found[6] or "")
        for found in _READ.finditer(expression)
    ]
    rest = _READ.sub("", expression)
    whole = re.search(r"\bdevice\b(?!\.(driver|allowMultipleAllocations)\b)", rest)
    return _Selector(program, tuple(domains), None if whole else tuple(reads))


def _split(name: str, driver: str) -> tuple[str, str]:
    domain, _, own = name.rpartition("/")
    return domain or driver, own


def _key(text: str) -> Any:
    """Return by what a quantity, or a version, is ordered."""
    type_, _, value = text.partition(" ")
    if type_ == "quantity":
        return Decimal(value)
    numbers, _, before = value.partition("+")[0].partition("-")
    parts = [(not part.isdigit(), int(part) if part.isdigit() else 0, part) for part in before.split(".")]
    # A version comes after those that only lead to it.
    return [int(number) for number in numbers.split(".")], not before, parts
