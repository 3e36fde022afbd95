"""A tenant that forges others' identities: what it tries, and how that is checked."""

from __future__ import annotations

import pytest

from stowage_testbed.api.client import ApiRefusedError
from stowage_testbed.base import layout
from stowage_testbed.base.errors import StowageError
from stowage_testbed.faults.forgeries import WAYS
from stowage_testbed.faults.tenant import must_be_forbidden
from stowage_testbed.scenario.load import load_file


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


def test_every_forgery_has_its_scenario() -> None:
    """One that nobody tries is never found out."""
    file = layout.shipped("scenarios") / "faults" / "forged.yaml"
    tried = {one.fault.way for one in load_file(file) if one.fault}

    assert tried == set(WAYS)
