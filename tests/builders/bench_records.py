"""Records of benchmark calls in a few words."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.optimizer.record import Record, TierClaim, Value

BASE = Record(
    case="paper-n4-p4-k1-u95-0",
    arm="ours paper 1 s",
    end_reason="TIME_LIMIT",
    message="",
    optimal=False,
    value=((0, 10, -2),),
    tiers=(),
    pending=1,
    refused=(),
    wall_s=0.5,
    first_plan_s=0.1,
    all_placed_s=None,
    all_placed_solve_s=None,
    decode_s=0.001,
    solve_s=0.4,
    verify_s=0.001,
    updates=2,
)


def a_record(
    value: Value = ((0, 10, -2),),
    *,
    optimal: bool = False,
    arm: str = "ours paper 1 s",
    case: str = BASE.case,
    upper_bound: int = 99,
    disruption_lower_bound: int = 0,
    refused: tuple[str, ...] = (),
    wall_s: float = 0.5,
) -> Record:
    """Return a record whose tiers all make the same claims."""
    claims = tuple(
        TierClaim(
            placed_before=9,
            placed=placed,
            upper_bound=upper_bound,
            optimal=optimal,
            disruption=-kept,
            disruption_lower_bound=disruption_lower_bound,
        )
        for _, placed, kept in value
    )
    return replace(
        BASE,
        case=case,
        arm=arm,
        optimal=optimal,
        value=value,
        tiers=claims,
        refused=refused,
        wall_s=wall_s,
    )
