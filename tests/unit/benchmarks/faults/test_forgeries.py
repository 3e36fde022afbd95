"""A tenant that forges others' identities: what it tries, and how that is checked."""

from __future__ import annotations

import pytest

from benchmarks.faults.forgeries import WAYS
from benchmarks.faults.settings import load_faults
from benchmarks.faults.tenant import must_be_forbidden
from stowage_testbed.api.client import ApiRefusedError
from stowage_testbed.base.errors import StowageError


def refused_with(status: int) -> None:
    raise ApiRefusedError("patch a plan", status, "no")


def test_what_a_tenant_is_let_do_against_its_rights_fails_the_try() -> None:
    """The roles of the chart are a part of what is tried."""
    with pytest.raises(StowageError, match="a tenant could abort a plan"):
        must_be_forbidden("abort a plan", lambda: None)


def test_only_a_missing_right_counts_as_forbidden() -> None:
    """A request that is merely wrong would be refused to everybody."""
    must_be_forbidden("abort a plan", lambda: refused_with(403))
    with pytest.raises(ApiRefusedError):
        must_be_forbidden("abort a plan", lambda: refused_with(422))


def test_every_forgery_is_tried() -> None:
    """One that nobody tries is never found out."""
    tried = {f.settings.way for f in load_faults() if f.settings.do == "forge"}

    assert tried == set(WAYS)
