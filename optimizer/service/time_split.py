"""How a call's time is split: receiving, solving, and what follows the solve.

The caller's limit is for the whole call. So the child is given what is left when its
last answer must still be checked and sent, and the caller is answered a moment after
the limit at the latest, with whatever has passed the checker by then.
"""

from __future__ import annotations

from optimizer.contract import optimizer_pb2 as pb

FINISHING_S = 0.05
"""Kept back from the child's limit, for its last answer to be checked and sent."""

CHECKING_S = 25e-6
"""Kept back besides for each pod, node and class: what the checker takes, on a core
that is shared."""

LARGEST_SHARE = 0.2
"""Of the time left that is kept back for large snapshots; never more, however large."""

RECEIVING_S = 12e-9
"""What a byte of the request took to arrive before its call was seen (5 MB: 0.06 s)."""

KILL_AFTER_S = 0.015
"""After the limit the child is killed."""

ANSWER_AFTER_S = 0.025
"""After the limit the caller is answered, also if the last plan is still checked."""


def finishing_s(snapshot: pb.Snapshot, left_s: float) -> float:
    """Return the seconds of ``left_s`` that the child is not given."""
    kept_back_s = min(checking_s(snapshot), LARGEST_SHARE * left_s)
    return min(FINISHING_S, 0.05 * left_s) + kept_back_s


def checking_s(snapshot: pb.Snapshot) -> float:
    """Return the seconds that checking one plan takes, about."""
    size = len(snapshot.pods) + len(snapshot.nodes) + len(snapshot.pod_classes)
    return CHECKING_S * size


def receiving_s(request_bytes: int) -> float:
    """Return the seconds that a request took before anybody looked at the clock."""
    return RECEIVING_S * request_bytes
