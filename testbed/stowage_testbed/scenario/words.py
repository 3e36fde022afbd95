"""Which words may name things in a scenario; other values than text always pass."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated

from stowage_testbed.declaration import form

LONGEST_LABEL = 63


def _make_matcher(pattern: str) -> Callable[[object], bool]:
    """Return what tells whether a text is wholly of this pattern."""
    whole = re.compile(pattern).fullmatch
    return lambda value: not isinstance(value, str) or whole(value) is not None


is_label = _make_matcher(rf"(?=.{{1,{LONGEST_LABEL}}}\Z)[a-z0-9]([-a-z0-9]*[a-z0-9])?")
"""A DNS label, as Kubernetes demands of names."""

is_scenario_name = _make_matcher(r"[a-z0-9][-a-z0-9]*/[a-z0-9][-a-z0-9]*")
"""A topic and a behaviour."""

WORDS = {
    "label": is_label,
    "scenario-name": is_scenario_name,
    "parameter-name": _make_matcher(r"[a-z][a-z0-9_]*"),
    "metric-name": _make_matcher(r"[a-z][-a-zA-Z0-9_./]*"),
    "any-resource": _make_matcher(r"(?!pods\Z)[a-z0-9]([-._a-zA-Z0-9/]*[a-zA-Z0-9])?"),
    "resource-name": _make_matcher(r"(?!(cpu|memory|pods)\Z)[a-z0-9]([-._a-zA-Z0-9/]*[a-zA-Z0-9])?"),
    "priority": _make_matcher(r"-?(0|[1-9]\d{0,9})"),
}
"""Each kind of word, as a format of the schema."""

Label = Annotated[str, form(format="label")]
"""A word that is a DNS label."""

STEPS, HALVES = "with steps", "without steps"
"""The two forms of a scenario: some of its words have a meaning only in one."""
