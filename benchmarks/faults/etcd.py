"""The fault of an etcd that has no room left, and what makes room again."""

from __future__ import annotations

import http.client
from collections.abc import Mapping
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any

from benchmarks.faults.context import FaultContext
from stowage_testbed.api.client import ApiRefusedError
from stowage_testbed.base.errors import StowageError
from stowage_testbed.cluster.components import ETCD
from stowage_testbed.cluster.etcd import NO_SPACE, ask_etcd
from stowage_testbed.cluster.supervision import expect_ends, watch_again

_WORK_TIMEOUT_S = 30.0
"""Of a defragmentation, which copies the whole database."""

REMINDER = "stowage.dev/fault"
"""Annotation that says nothing; its coming is a change."""


def fill(context: FaultContext) -> None:
    """Have etcd refuse every write, whoever's, until the fault ends.

    It is compacted, defragmented and disarmed then, as by whoever looks after it.
    """
    cluster = context.run.cluster
    # A full etcd ends every other run.
    expect_ends(cluster, ETCD)
    context.on_end(partial(remind_kwok, context))
    context.on_end(partial(watch_again, cluster.workdir))
    context.on_end(partial(make_room, cluster.workdir))
    raise_no_space(cluster.workdir)


def remind_kwok(context: FaultContext) -> None:
    """Change every pod of the scenario, so that KWOK looks at it again.

    It drops for good what the API server answers with 500, as to start a pod or to
    remove one, where a kubelet would try again.
    """
    namespace, change = context.namespace, {"metadata": {"annotations": {REMINDER: ""}}}
    for body in context.objects.list_all("Pod", namespace):
        name = body["metadata"]["name"]
        try:
            context.objects.patch("Pod", name, change, namespace=namespace)
        except ApiRefusedError as error:
            if error.status != HTTPStatus.NOT_FOUND:
                raise


def raise_no_space(workdir: Path) -> None:
    """Have etcd behave as when its quota is reached.

    The alarm is the one that an etcd raises by itself when its database has grown too
    large. Until it is disarmed, every write is refused.
    """
    _alarm(workdir, "ACTIVATE")


def make_room(workdir: Path) -> None:
    """End the alarm as etcd's manual says: compact, defragment, disarm."""
    # Any key will do: every answer tells the revision.
    now = _call(workdir, "kv/range", {"key": "AA=="})["header"]["revision"]
    _call(workdir, "kv/compaction", {"revision": now, "physical": True})
    _call(workdir, "maintenance/defragment", {})
    _alarm(workdir, "DEACTIVATE")


def _alarm(workdir: Path, action: str) -> None:
    # Member 0 is every member.
    order = {"action": action, "memberID": "0", "alarm": NO_SPACE}
    _call(workdir, "maintenance/alarm", order)


def _call(workdir: Path, method: str, request: Mapping[str, Any]) -> dict[str, Any]:
    """Call a method of etcd's API through its JSON gateway."""
    try:
        return ask_etcd(workdir, "POST", f"/v3/{method}", request, _WORK_TIMEOUT_S)
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise StowageError(
            f"etcd did not do {method} ({error}); see its log in {workdir / 'logs'}"
        ) from error
