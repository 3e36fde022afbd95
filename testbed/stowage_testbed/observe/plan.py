"""What the runner needs to know of a PackingPlan, read from the API's object once."""

from __future__ import annotations

from dataclasses import dataclass

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


@dataclass(frozen=True, slots=True)
class ObservedPlan:
    """One plan as last seen; ``phase`` is empty until the scheduler takes it up."""

    uid: str
    name: str
    created: str
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
