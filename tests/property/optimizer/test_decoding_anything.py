"""Whatever a snapshot says, it is understood or refused with a reason."""

from __future__ import annotations

from any_message import any_message
from hypothesis import HealthCheck, given, settings

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.model.decode import decode_options, decode_snapshot
from stowage_optimizer.model.decode.issues import Issues
from stowage_optimizer.model.errors import InvalidInputError

SLOW_TO_MAKE = (HealthCheck.too_slow, HealthCheck.data_too_large)


def refused(issues: Issues) -> bool:
    """Tell whether there are issues; each of them has its words."""
    try:
        issues.raise_if_any()
    except InvalidInputError as error:
        return all(str(issue) for issue in error.issues)
    return False


@settings(max_examples=150, deadline=None, suppress_health_check=SLOW_TO_MAKE)
@given(any_message(pb.Snapshot))
def test_any_snapshot_is_decoded_or_refused(message: pb.Snapshot) -> None:
    """A crash of the service would keep it from planning for others."""
    issues = Issues()
    snapshot = decode_snapshot(message, issues)

    if not refused(issues):
        assert len(snapshot.pods) == len(message.pods)
        assert len(snapshot.nodes) == len(message.nodes)


@settings(max_examples=100, deadline=None)
@given(any_message(pb.SolveOptions))
def test_any_options_are_decoded_or_refused(message: pb.SolveOptions) -> None:
    """Not a number, a negative limit, an unknown strategy: each is named."""
    issues = Issues()
    options = decode_options(
        message,
        issues,
        strategies={"a", "lexicographic"},
        default_time_limit_s=1.0,
        default_workers=1,
    )

    if not refused(issues):
        assert options.time_limit_s > 0
        assert options.strategy in {"a", "lexicographic"}
