"""The scheduler's error about a profile leads to the profile's line."""

from __future__ import annotations

from pathlib import Path

import pytest

from stowage_testbed.helm.diagnosis import profile_issue, said_last

PROFILE = """\
# parallelsm: in a comment is no place
parallelsm: 1
profiles:
  - schedulerName: default-scheduler
    plugins:
      multiPoint:
        enabled:
          - name: NoSuchPlugin
"""


def test_the_last_error_of_the_log_is_taken() -> None:
    """Earlier ones are mostly warnings in disguise."""
    log = [
        'E1121 15:05:23.0 1 reflector.go:1] "earlier" err="not this"',
        r'E1121 15:05:23.1 1 run.go:72] "command failed" err="unknown field \"a.b\""',
        "I1121 15:05:23.2 1 done.go:1] bye",
    ]

    assert said_last(log) == 'unknown field "a.b"'
    assert said_last(log[2:]) == ""


@pytest.mark.parametrize(
    ("said", "line"),
    [
        ('strict decoding error: unknown field "parallelsm"', 2),
        ('unknown field "profiles[0].plugins"', 5),
        ('initializing profiles: plugin "NoSuchPlugin" does not exist', 8),
    ],
)
def test_what_the_error_quotes_is_found(tmp_path: Path, said: str, line: int) -> None:
    """A line number saves its reader the search."""
    profile = tmp_path / "mine.yaml"
    profile.write_text(PROFILE, "utf-8")

    assert profile_issue(profile, said) == f"{profile}:{line}: {said}; fix the profile"


def test_an_error_about_something_else_is_not_blamed_on_the_profile(
    tmp_path: Path,
) -> None:
    """A false place is worse than none."""
    profile = tmp_path / "mine.yaml"
    profile.write_text(PROFILE, "utf-8")

    assert profile_issue(profile, 'cannot listen on "127.0.0.1:1"') == ""
