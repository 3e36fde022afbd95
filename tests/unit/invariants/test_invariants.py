"""Each rule on histories that break it, and on the nearest ones that do not."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from history_builder import HistoryBuilder

from stowage_testbed.invariants import History, check
from stowage_testbed.invariants.check import RULES

HISTORIES = yaml.safe_load(Path(__file__).with_name("histories.yaml").read_text())
SOUND, BROKEN = HISTORIES["sound"], HISTORIES["broken"]


def history_of(steps: Sequence[Sequence[Any]]) -> History:
    builder = HistoryBuilder()
    for name, *arguments in steps:
        named = [one for one in arguments if isinstance(one, dict)]
        plain = [one for one in arguments if not isinstance(one, dict)]
        getattr(builder, name)(*plain, **dict(*named))
    return builder.history()


@pytest.mark.parametrize(("rule", "name"), [(rule, name) for rule in BROKEN for name in BROKEN[rule]])
def test_a_history_that_breaks_a_rule_is_found(rule: str, name: str) -> None:
    """A rule that cannot fail shows nothing."""
    found = check(history_of(BROKEN[rule][name]))

    assert {violation.rule for violation in found} == {rule}
    assert all(violation.in_words().startswith(rule) for violation in found)


@pytest.mark.parametrize("name", SOUND)
def test_a_history_that_only_comes_near_is_not(name: str) -> None:
    """A rule that cries wolf is switched off sooner or later."""
    assert check(history_of(SOUND[name])) == []


def test_every_rule_is_shown_to_fail() -> None:
    """A new rule needs its bad history."""
    assert len(BROKEN) == len(RULES)
