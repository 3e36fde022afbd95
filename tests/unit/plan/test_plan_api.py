"""What the API server's refusals are made of."""

from __future__ import annotations

import pytest
from watch_server import WatchServer, serving

from stowage_testbed.plan import PlanApi
from stowage_testbed.plan.errors import (
    ClusterSilentError,
    PlanKindMissingError,
    PlanRefusedError,
)


def test_a_user_without_rights_on_plans_gets_an_error() -> None:
    """A plan called "list" is looked for in vain."""
    server = WatchServer()
    server.list_status = 403

    with (
        serving(server) as api,
        pytest.raises(PlanRefusedError, match="refuses to list plans: Forbidden"),
    ):
        PlanApi(api).plan()


def test_a_cluster_without_the_chart_is_distinguished_from_one_without_plans() -> None:
    """The way out is another one."""
    server = WatchServer()
    server.list_status = 404

    with serving(server) as api, pytest.raises(PlanKindMissingError):
        PlanApi(api).plan()


def test_a_cluster_that_is_down_is_reported_without_a_traceback() -> None:
    """The kubeconfig of a cluster often outlives it."""
    with serving(WatchServer()) as api:
        pass

    with pytest.raises(ClusterSilentError, match="does not answer"):
        PlanApi(api).plan()
