"""What a plan is for, how much it may disrupt, and the policy, as flags."""

import argparse
from typing import Final

from stowage_optimizer.contract import optimizer_pb2 as pb

POLICIES: Final[dict[str, pb.Policy]] = {"strict": pb.POLICY_STRICT, "paper": pb.POLICY_PAPER}


OBJECTIVES: Final[dict[str, pb.Objective]] = {"place": pb.OBJECTIVE_PLACE, "consolidate": pb.OBJECTIVE_CONSOLIDATE}
"""Objectives by the name they have on the command line."""


def add_solve_options(parser: argparse.ArgumentParser) -> None:
    """Add the flags to ``parser``."""
    parser.add_argument(
        "--policy", choices=POLICIES, default="strict", help="strict: only higher priority may push a running pod out"
    )
    parser.add_argument(
        "--objective",
        choices=OBJECTIVES,
        default="place",
        help="place: as many pods as possible; consolidate: fewest nodes, or the cheapest where nodes have prices",
    )
    parser.add_argument("--max-moves", type=int, help="0: none; default: no limit")
    parser.add_argument("--max-evictions", type=int, help="0: none; default: no limit")
    parser.add_argument(
        "--max-disruptions-per-owner", type=int, help="moves and evictions of one owner's pods; default: no limit"
    )
    parser.add_argument(
        "--min-gain-per-move",
        type=float,
        default=0.0,
        help="pods that each move must gain; 0: any gain is worth its moves",
    )


def read_solve_options(given: argparse.Namespace, options: pb.SolveOptions) -> None:
    """Write what was given into ``options``."""
    options.objective = OBJECTIVES[given.objective]
    for name in ("max_moves", "max_evictions", "max_disruptions_per_owner"):
        if getattr(given, name) is not None:
            setattr(options, name, getattr(given, name))
    options.min_gain_per_move = given.min_gain_per_move
