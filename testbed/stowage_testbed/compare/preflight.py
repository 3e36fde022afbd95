"""Before anything is started: what differs between the arms, and whether that is fair.

A pure function of what the arms say of themselves. Client limits alone explain more
than most schedulers differ by, so arms that have others are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from stowage_testbed.run.arm import ArmSettings

EQUAL_LIMITS = "--limits equal"
ALLOW_UNFAIR = "--allow-unfair"
NOT_APPLICABLE = "-"


@dataclass(frozen=True, slots=True)
class Row:
    """One property of all arms.

    Attributes
    ----------
    values
        By arm, as they are shown.
    differs
        Whether two arms have different ones.
    decides
        Whether a difference makes the comparison unfair.
    """

    name: str
    values: Mapping[str, str]
    differs: bool
    decides: bool


@dataclass(frozen=True, slots=True)
class UnfairRefusal:
    """Why these arms are not compared: every decisive difference."""

    differences: tuple[Row, ...]

    def __str__(self) -> str:
        lines = []
        for row in self.differences:
            values = ", ".join(f"{arm} {value}" for arm, value in row.values.items())
            lines.append(f"  {row.name}: {values}")
        listed = "\n".join(lines)
        return (
            f"these arms differ in more than how they place pods:\n{listed}\n"
            f"give all the same client limits and feature gates with {EQUAL_LIMITS}, "
            f"or compare them as they are with {ALLOW_UNFAIR}"
        )


@dataclass(frozen=True, slots=True)
class Preflight:
    """What the arms of a comparison have in common and what not.

    Attributes
    ----------
    notes
        By arm, what is special and cannot be made equal.
    webhooks
        Admission webhooks on the cluster, which every arm's pods pass through.
    refusal
        ``None`` for arms that are a fair comparison.
    """

    rows: tuple[Row, ...]
    notes: Mapping[str, tuple[str, ...]]
    webhooks: tuple[str, ...]
    refusal: UnfairRefusal | None

    def table(self) -> list[dict[str, str]]:
        """Return a line a property: its name, each arm's value, and what it means."""
        return [
            {"": row.name, **row.values, "verdict": _verdict(row)} for row in self.rows
        ]


def preflight(
    settings: Mapping[str, ArmSettings], webhooks: Sequence[str] = ()
) -> Preflight:
    """Compare arms before they run.

    Parameters
    ----------
    settings
        By arm, as they will run.
    webhooks
        Admission webhooks on the live cluster.
    """
    rows = tuple(_rows(settings))
    unfair = tuple(row for row in rows if row.differs and row.decides)
    return Preflight(
        rows=rows,
        notes={arm: one.notes for arm, one in settings.items() if one.notes},
        webhooks=tuple(webhooks),
        refusal=UnfairRefusal(unfair) if unfair else None,
    )


def _rows(settings: Mapping[str, ArmSettings]) -> Iterator[Row]:
    def row(
        name: str, value: Callable[[ArmSettings], str], *, decides: bool = True
    ) -> Row:
        values = {arm: value(one) for arm, one in settings.items()}
        # An arm to which a property does not apply cannot differ in it.
        stated = set(values.values()) - {NOT_APPLICABLE}
        return Row(name, values, len(stated) > 1, decides)

    yield row("version", lambda one: one.version, decides=False)
    yield row("client QPS", lambda one: _number(one.qps, "no limit"))
    yield row("client burst", lambda one: _number(one.burst, "no limit"))
    yield row("parallelism", lambda one: _number(one.parallelism, NOT_APPLICABLE))
    yield row("nodes scored", lambda one: _sampling(one.sampled_percent))
    gates = {gate for one in settings.values() for gate in one.feature_gates}
    for gate in sorted(gates):
        yield row(f"feature gate {gate}", partial(_gate, gate))
    yield row("webhooks", lambda one: ", ".join(sorted(one.webhooks)) or "none")


def _number(value: float | None, without: str) -> str:
    return without if value is None else f"{value:g}"


def _sampling(percent: int | None) -> str:
    return "adaptive" if percent is None else f"{percent} %"


def _gate(gate: str, settings: ArmSettings) -> str:
    if gate not in settings.feature_gates:
        return "not told"
    return "on" if settings.feature_gates[gate] else "off"


def _verdict(row: Row) -> str:
    if not row.differs:
        return "same"
    return "unfair" if row.decides else "differs"
