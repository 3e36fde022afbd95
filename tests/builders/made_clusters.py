"""A made cluster in which pods come and go, and the live page of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kubernetes import client
from made_objects import Handler, MadeCluster
from served_api import served_api

from stowage_testbed.live.server import LiveServer, serving
from stowage_testbed.live.watching import LiveWatch

PLANS = "/apis/stowage.dev/v1alpha1/packingplans"


class Switches:
    """What happens to a made cluster in a test.

    Attributes
    ----------
    away
        It ends its watches, and answers nobody.
    plan
        The name of a plan of the chart, which was installed meanwhile.
    """

    def __init__(self) -> None:
        self.away = False
        self.plan = ""


@contextmanager
def made_cluster(
    nodes: int, pods: int, events_per_s: float = 200.0, switches: Switches | None = None
) -> Iterator[client.ApiClient]:
    """Serve a cluster for the block, and yield a client of it."""
    switched = switches or Switches()

    class Switched(MadeCluster):
        def events(self) -> Iterator[dict[str, Any]]:
            for event in super().events():
                if switched.away:
                    return
                yield event

    class Made(Handler):
        cluster = Switched(nodes, pods, events_per_s)

        def do_GET(self) -> None:  # noqa: N802 - the library's name
            path = self.path.partition("?")[0]
            if switched.away:
                self.close_connection = True
            elif switched.plan and path == "/apis":
                self._answer(_discovery_of_plans())
            elif path == PLANS and "watch" not in self.path:
                items = [{"metadata": {"name": switched.plan, "uid": "plan"}}]
                self._answer({"metadata": {"resourceVersion": "1"}, "items": items})
            else:
                super().do_GET()

    with served_api(Made) as api:
        yield api


def _discovery_of_plans() -> dict[str, Any]:
    resource = {
        "resource": "packingplans",
        "responseKind": {"kind": "PackingPlan"},
        "scope": "Cluster",
        "verbs": ["list", "watch"],
    }
    version = {"version": "v1alpha1", "resources": [resource]}
    return {"items": [{"metadata": {"name": "stowage.dev"}, "versions": [version]}]}


@contextmanager
def page_of(nodes: int, pods: int) -> Iterator[str]:
    """Watch a made cluster for the block, and yield the address of its page."""
    with made_cluster(nodes, pods) as api:
        watch = LiveWatch(api)
        watch.begin()
        try:
            with serving(LiveServer(watch, "made")) as address:
                yield address
        finally:
            watch.stop()
