"""A fault of etcd: it has no room left and takes no writes until the fault ends."""

from __future__ import annotations

from functools import partial
from http import HTTPStatus

from stowage_testbed.cluster.components import ETCD
from stowage_testbed.cluster.etcd import make_room, raise_no_space
from stowage_testbed.cluster.supervision import expect_ends, watch_again
from stowage_testbed.faults.context import FaultContext
from stowage_testbed.run.errors import ApiRefusedError

REMINDER = "stowage.dev/fault"
"""Annotation that says nothing; its coming is a change."""


def fill_etcd(context: FaultContext) -> None:
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
    for body in context.objects.listed("Pod", namespace):
        name = body["metadata"]["name"]
        try:
            context.objects.patch("Pod", name, change, namespace=namespace)
        except ApiRefusedError as error:
            if error.status != HTTPStatus.NOT_FOUND:
                raise
