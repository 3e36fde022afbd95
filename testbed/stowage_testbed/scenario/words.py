"""Which words may name things in a scenario; other values than text always pass."""

from __future__ import annotations

import re

LONGEST_LABEL = 63

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_SCENARIO_NAME = re.compile(r"[a-z0-9][-a-z0-9]*/[a-z0-9][-a-z0-9]*")
_PARAMETER_NAME = re.compile(r"[a-z][a-z0-9_]*")
_METRIC_NAME = re.compile(r"[a-z][a-z0-9_.]*")
_PRIORITY = re.compile(r"-?(0|[1-9]\d{0,9})")


def is_label(value: object) -> bool:
    """Return whether a text is a DNS label, as Kubernetes demands of names."""
    return not isinstance(value, str) or (
        len(value) <= LONGEST_LABEL and _LABEL.fullmatch(value) is not None
    )


def is_scenario_name(value: object) -> bool:
    """Return whether a text is a topic and a behaviour."""
    return not isinstance(value, str) or _SCENARIO_NAME.fullmatch(value) is not None


def is_parameter_name(value: object) -> bool:
    """Return whether a text can stand between ``${`` and ``}``."""
    return not isinstance(value, str) or _PARAMETER_NAME.fullmatch(value) is not None


def is_priority(value: object) -> bool:
    """Return whether a text is a whole number that a priority can have."""
    return not isinstance(value, str) or _PRIORITY.fullmatch(value) is not None


def is_metric_name(value: object) -> bool:
    """Return whether a text can name a metric."""
    return not isinstance(value, str) or _METRIC_NAME.fullmatch(value) is not None
