"""The rules on what a run really keeps of itself."""

from __future__ import annotations

from testbed.invariants.settled import COUNTED
from testbed.observe.source import CORE_SOURCES
from testbed.run.invariant_checks import WATCHED


def test_every_controller_whose_pods_are_counted_is_watched() -> None:
    """A rule about what nobody looks at never fails."""
    assert {source.kind for source in (*CORE_SOURCES, *WATCHED)} >= set(COUNTED)
