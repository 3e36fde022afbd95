"""Each rule on a history that breaks it, and on the nearest one that does not."""

from __future__ import annotations

import pytest
from histories import BROKEN, SOUND
from history_builder import HistoryBuilder

from stowage_testbed.invariants import check
from stowage_testbed.invariants.check import RULES


@pytest.mark.parametrize("name", BROKEN)
def test_a_history_that_breaks_a_rule_is_found(name: str) -> None:
    """A rule that cannot fail shows nothing."""
    rule, change = BROKEN[name]
    found = check(change(HistoryBuilder()).history())

    assert {violation.rule for violation in found} == {rule}
    assert all(violation.in_words().startswith(rule) for violation in found)


@pytest.mark.parametrize("name", SOUND)
def test_a_history_that_only_comes_near_is_not(name: str) -> None:
    """A rule that cries wolf is switched off sooner or later."""
    assert check(SOUND[name](HistoryBuilder()).history()) == []


def test_every_rule_is_shown_to_fail() -> None:
    """A new rule needs its bad history."""
    broken = {rule for rule, _ in BROKEN.values()}

    assert len(broken) == len(RULES)
