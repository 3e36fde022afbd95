"""Expressions in CEL, the language of Kubernetes' own validation rules; one that fails says what it read."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from stowage_testbed.amounts.resources import amount

if TYPE_CHECKING:
    import cel

_AT = re.compile(r"<input>:(\d+):(\d+): *(.*)")
_LOGIC = ("&&", "||")
_COMPARED = ("==", "!=", "<=", ">=", "<", ">")
_OPEN, _CLOSE = frozenset("([{"), frozenset(")]}")
_TOKEN = re.compile(r"""'[^']*'|"[^"]*"|&&|\|\||[=!<>]=|.""", re.DOTALL)
_SHOWN = 200  # Characters of a value that are shown
_FAILURES = (ValueError, RuntimeError, IndexError, KeyError, TypeError)  # What the library raises of an expression


@dataclass(frozen=True, slots=True, repr=False)
class Expression:
    """An expression that holds or does not; raises a ValueError for a text that is none."""

    text: str

    def __repr__(self) -> str:
        return repr(self.text)

    def __post_init__(self) -> None:
        _compile(self.text)

    @property
    def names(self) -> frozenset[str]:
        """The values that it reads."""
        return frozenset(_compile(self.text).variables())

    def look(self, values: Mapping[str, Any]) -> str | None:
        """Return None if it holds of these values; else what it has read, or what keeps it from an answer."""
        try:
            answer = _evaluate(self.text, values)
        except KeyError as error:
            return f"there is no {error}"
        except _FAILURES as error:
            return str(error).partition("\n")[0]
        if answer is True:
            return None
        read = [] if answer is False else [f"it is {_show(answer)}, not true or false"]
        # What each side of a comparison had.
        for part in (part for clause in _split(self.text, _LOGIC) for part in _split(clause, _COMPARED)):
            try:
                answer = _evaluate(part, values)
            except _FAILURES:
                continue
            if _compile(part).variables():
                read.append(f"{part} is {_show(answer)}")
        return "; ".join(read)


def _split(text: str, operators: tuple[str, ...]) -> list[str]:
    """Return the parts between operators that stand in no brackets nor quotes."""
    parts, depth = [""], 0
    for token in _TOKEN.findall(text):
        depth += (token in _OPEN) - (token in _CLOSE)
        if token in operators and not depth:
            parts.append("")
        else:
            parts[-1] += token
    return [one.strip() for one in parts if one.strip()]


@cache
def _compile(text: str) -> cel.Program:
    import cel  # noqa: PLC0415 - it brings a shell, which takes a third as long to import as all else

    try:
        return cel.compile(text)
    except ValueError as error:
        found = _AT.search(str(error))
        column = int(found[2]) if found else 1
        why = found[3].partition(" expecting")[0] if found else str(error)
        raise ValueError(
            f"{text!r} is no CEL expression, from its character {column} on: {why}; "
            "write one as in pods.all(p, has(p.spec.nodeName))"
        ) from None


def _evaluate(text: str, values: Mapping[str, Any]) -> Any:
    import cel  # noqa: PLC0415 - as in `_compile`

    functions: dict[str, Callable[..., Any]] = {"amount": lambda quantity: float(amount(quantity)), "sum": sum}
    return _compile(text).execute(cel.Context(dict(values), functions))


def _show(value: Any) -> str:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
