"""What the API server says of the viewer decides what the page can do."""

from __future__ import annotations

import pytest
from watch_server import WatchServer, a_pod, serving

from stowage_testbed.errors import StowageError
from stowage_testbed.live_page.access import may_change_plans, watching


def test_who_may_not_list_pods_is_told_which_rights_are_needed() -> None:
    """Before a page is served that would stay empty."""
    server = WatchServer()
    server.list_status = 403

    with (
        serving(server) as api,
        pytest.raises(StowageError, match="verbs list and watch on nodes and pods"),
        watching(api),
    ):
        pass


def test_a_cluster_that_is_down_is_told_with_the_way_out() -> None:
    """The kubeconfig of a cluster often outlives it."""
    with serving(WatchServer()) as api:
        pass

    with (
        pytest.raises(StowageError, match=r"does not answer: .*names the right one"),
        watching(api),
    ):
        pass


def test_the_first_list_is_there_at_once() -> None:
    """The first picture is whole."""
    server = WatchServer()
    server.items = [a_pod("p1"), a_pod("p2")]

    with serving(server) as api, watching(api) as observer:
        names = {change.name for change in observer.take_journal()}
        server.end_connection()
        server.end_connection()

    assert names == {"p1", "p2"}


def test_without_an_answer_there_is_no_right() -> None:
    """A button that cannot work is not shown."""
    with serving(WatchServer()) as api:
        assert not may_change_plans(api)
    assert not may_change_plans(api)
