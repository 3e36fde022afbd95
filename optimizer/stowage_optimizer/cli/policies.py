"""Policies by the name they have on the command line."""

from __future__ import annotations

from typing import Final

from stowage_optimizer.contract import optimizer_pb2 as pb

POLICIES: Final[dict[str, pb.Policy]] = {
    "strict": pb.POLICY_STRICT,
    "paper": pb.POLICY_PAPER,
}
