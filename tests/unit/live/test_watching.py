"""The watch behind the page, on a made cluster in which pods come and go."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from kubernetes.client import ApiClient
from made_clusters import Switches, made_cluster

from stowage_testbed.base.wait import HANG_S, wait_until
from stowage_testbed.live.watching import LiveWatch

NODES, PODS = 20, 100


@contextmanager
def watching(api: ApiClient) -> Iterator[LiveWatch]:
    watch = LiveWatch(api)
    watch.begin()
    try:
        yield watch
    finally:
        watch.stop()


def until(watch: LiveWatch, what: str, holds: Callable[[dict[str, Any]], bool]) -> None:
    wait_until(f"the watch {what}", watch.now, holds, timeout_s=HANG_S)


def test_interruptions_and_plans_of_a_later_chart_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """The page must not show a cluster at rest that is only out of sight.

    Nor does anybody think of opening it anew when there is something new to see.
    """
    monkeypatch.setattr("stowage_testbed.live.watching.LOOK_S", 0.0)
    switches = Switches()
    with made_cluster(NODES, PODS, switches=switches) as api, watching(api) as watch:
        began = watch.now()
        assert began["plans"] == []
        switches.away = True
        until(watch, "to be lost", lambda now: "Pod:" in now["lost"])
        switches.away = False
        until(watch, "to be back", lambda now: not now["lost"])
        switches.plan = "first"
        until(watch, "to have a plan", lambda now: bool(now["plans"]))

        (plan,) = watch.now()["plans"]
        assert plan[0] == "first"
        watch.stop()
        messages = watch.messages.after(began["seq"])
        assert messages
        assert messages[-1][0] == watch.now()["seq"]
