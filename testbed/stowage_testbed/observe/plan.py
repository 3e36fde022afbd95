"""A PackingPlan, read from the API's object once, and what its status says of nodes that are emptied, in words."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from stowage_testbed.amounts.price import MICROS, exact_price
from stowage_testbed.amounts.resources import QuantityError, amount
from stowage_testbed.observe.change import JsonObject

FINISHED_PHASES = frozenset({"Completed", "NoImprovement", "Aborted", "Failed"})
BROKEN_PHASES = frozenset({"Aborted", "Failed"})


@dataclass(frozen=True, slots=True)
class ObservedTier:
    """The result of one tier: the pods of this priority and above."""

    priority: int
    placed_before: int
    placed: int
    upper_bound: int
    optimal: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedPlan:
    """One plan as last seen, without ``phase`` until the scheduler takes it up; a run's document has no ``uid``."""

    uid: str = ""
    name: str
    created: str = ""
    trigger: str
    execution_mode: str
    phase: str
    strategy: str
    end_reason: str
    optimal: bool
    message: str
    solve_s: float
    placements: int
    moves: int
    evictions: int
    refusals: tuple[str, ...]
    tiers: tuple[ObservedTier, ...]

    @property
    def finished(self) -> bool:
        """Whether the plan has ended, or is a proposal that waits for a user."""
        rests = self.phase == "Proposed" and self.execution_mode == "DryRun"
        return rests or self.phase in FINISHED_PHASES

    @property
    def executes(self) -> bool:
        """Whether the plan is to be carried out, and not only made."""
        return self.execution_mode != "DryRun"

    @property
    def broken(self) -> bool:
        """Whether the plan ended in an error."""
        return self.phase in BROKEN_PHASES

    @property
    def conclusive(self) -> bool:
        """Whether no other plan follows by itself, proved or not."""
        return self.phase == "NoImprovement" or (self.phase == "Completed" and self.optimal)

    def in_words(self) -> str:
        """Return the plan's state in one line."""
        proof = "optimal" if self.optimal else "not proved optimal"
        text = (
            f"{self.name}: {self.phase or 'not taken up yet'}, "
            f"{self.end_reason or 'no end reason'}, {proof}, "
            f"{self.moves} moves, {self.evictions} evictions"
        )
        return f"{text}: {self.message}" if self.message else text


def read_plan(body: JsonObject) -> ObservedPlan:
    """Read a PackingPlan's JSON."""
    metadata, spec = body["metadata"], body.get("spec") or {}
    status = body.get("status") or {}
    return ObservedPlan(
        uid=metadata["uid"],
        name=metadata["name"],
        created=metadata.get("creationTimestamp", ""),
        trigger=spec.get("trigger", ""),
        execution_mode=spec.get("executionMode", ""),
        phase=status.get("phase", ""),
        strategy=status.get("strategy", ""),
        end_reason=status.get("endReason", ""),
        optimal=bool(status.get("optimal")),
        message=status.get("message", ""),
        solve_s=float(status.get("solveSeconds") or 0.0),
        placements=len(status.get("placements") or []),
        moves=len(status.get("moves") or []),
        evictions=len(status.get("evictions") or []),
        refusals=tuple(f"{item.get('subject', '')}: {item.get('reason', '')}" for item in status.get("refusals") or []),
        tiers=tuple(
            ObservedTier(
                priority=tier.get("priority", 0),
                placed_before=tier.get("placedBefore", 0),
                placed=tier.get("placed", 0),
                upper_bound=tier.get("upperBound", 0),
                optimal=bool(tier.get("optimal")),
            )
            for tier in status.get("tiers") or []
        ),
    )


def progress(plan: JsonObject) -> str:
    """Return how far a plan has come, in one line."""
    name, phase = plan["metadata"]["name"], phase_of(plan)
    told = nodes_of(plan)
    if not told:
        return f"{name}: {phase or 'not taken up yet'}"
    states = Counter(str(one.get("state", "")) for one in told)
    return f"{name}: {phase}, {states['Emptied']} of {len(told)} nodes emptied{_saved(plan)}"


def ending(plan: JsonObject) -> Iterator[str]:
    """Yield what became of a plan that has ended, or is a proposal."""
    message = (plan.get("status") or {}).get("message", "")
    name, phase = plan["metadata"]["name"], phase_of(plan)
    told = nodes_of(plan)
    emptied = [one["name"] for one in told if one.get("state") == "Emptied"]
    if phase == "Proposed":
        yield f"{name} is proposed{_saved(plan)}. To have it carried out:"
        yield f"  stowage plan approve {name}"
        return
    yield (f"{name} is {phase}: {len(emptied)} nodes emptied{_saved(plan)}{f'; {message}' if message else ''}")
    for node in told:
        if node.get("state") not in ("Emptied", None):
            why = f": {node['message']}" if node.get("message") else ""
            yield f"  {node['name']} is {node['state']}{why}"


def summary(plan: JsonObject) -> Iterator[str]:
    """Yield what a plan does to the nodes in use, where it empties any."""
    said = consolidation_of(plan)
    if not said:
        return
    yield (
        f"  {said.get('nodesBefore', 0)} nodes in use, {said.get('nodesAfter', 0)} by "
        f"the plan; proved: at least {said.get('nodesLowerBound', 0)}"
    )
    if "hourlyPriceBefore" in said:
        before, after, least, saving = (
            told_price(said.get(f"hourly{name}", ""))
            for name in ("PriceBefore", "PriceAfter", "PriceLowerBound", "Saving")
        )
        yield (f"  {before} an hour, {after} by the plan; proved: at least {least}; saved: {saving}")
    sure = {
        "Reserved": "room is held for each replacement",
        "Rehearsed": "another scheduler found a place for each replacement; nothing is held",
    }.get(said.get("certainty", ""))
    if sure:
        yield f"  {said['certainty']}: {sure}"


def consolidation_of(plan: JsonObject) -> JsonObject:
    """Return what a plan's status says of nodes in use; empty if it says nothing."""
    said: JsonObject = (plan.get("status") or {}).get("consolidation") or {}
    return said


def nodes_of(plan: JsonObject) -> list[JsonObject]:
    """Return the nodes that a plan empties, with how far each has come."""
    return consolidation_of(plan).get("nodes") or []


def phase_of(plan: JsonObject) -> str:
    """Return a plan's phase; empty until somebody takes it up."""
    phase: str = (plan.get("status") or {}).get("phase", "")
    return phase


def _saved(plan: JsonObject) -> str:
    saving = consolidation_of(plan).get("hourlySaving")
    return f", {told_price(saving)} an hour saved" if saving else ""


def told_price(said: str) -> str:
    """Return a price of a status with two decimals at least; what is none as it is."""
    try:
        return exact_price(int(amount(said) * MICROS))
    except QuantityError:
        return said
