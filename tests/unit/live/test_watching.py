"""The watch behind the page, on a made cluster in which pods come and go."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from made_clusters import MadeCluster, watched

from stowage_testbed.base.wait import HANG_S, wait_until
from stowage_testbed.live.watching import LiveWatch


def until(watch: LiveWatch, what: str, holds: Callable[[dict[str, Any]], bool]) -> None:
    wait_until(f"the watch {what}", watch.now, holds, timeout_s=HANG_S)


def test_interruptions_and_plans_of_a_later_chart_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """The page must not show a cluster at rest that is only out of sight.

    Nor does anybody think of opening it anew when there is something new to see.
    """
    monkeypatch.setattr("stowage_testbed.live.watching.LOOK_S", 0.0)
    cluster = MadeCluster(20, 100)
    with watched(cluster) as watch:
        began = watch.now()
        assert began["plans"] == []
        cluster.away = True
        until(watch, "to be lost", lambda now: "Pod:" in now["lost"])
        cluster.away = False
        until(watch, "to be back", lambda now: not now["lost"])
        cluster.plan = "first"
        until(watch, "to have a plan", lambda now: bool(now["plans"]))

        (plan,) = watch.now()["plans"]
        assert plan[0] == "first"
        watch.stop()
        messages = watch.messages.after(began["seq"])
        assert messages
        assert messages[-1][0] == watch.now()["seq"]
