"""The cluster of a run: made for it, or one that was there before."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager

from stowage_testbed.base.errors import InputError
from stowage_testbed.cluster.base import Cluster
from stowage_testbed.cluster.choice import existing_cluster
from stowage_testbed.cluster.components import check_no_scheduler
from stowage_testbed.cluster.interruption import ending_cleanly, take_down
from stowage_testbed.cluster.listing import purge_clusters
from stowage_testbed.cluster.supervision import supervised
from stowage_testbed.observe.observer import Observer
from stowage_testbed.observe.pod_group import list_sources
from stowage_testbed.run.context import RunContext, Stopwatch
from stowage_testbed.run.listener import Listener
from stowage_testbed.run.request import RunRequest, make_cluster


@contextmanager
def open_cluster(request: RunRequest, listener: Listener, stopwatch: Stopwatch) -> Iterator[Cluster]:
    """Yield the cluster of a run; one that was made for it is gone afterwards, unless it is to be kept.

    Leftovers of runs that were killed are removed first. A cluster that the user named is never brought down.
    """
    with ending_cleanly():
        if request.cluster is not None:
            cluster = existing_cluster(request.cluster)
            cluster.check_minor(request.minor)
            if missing := cluster.find_missing(request.features):
                raise InputError(missing)
            check_no_scheduler(cluster.workdir)
            with supervised(cluster, request.folders):
                yield cluster
            return
        for name in purge_clusters():
            listener.run_progress(f"leftover cluster {name}: removed")
        cluster = make_cluster(
            f"run-{secrets.token_hex(3)}", request.scenarios, request.backend, request.minor, request.features
        )
        try:
            listener.run_progress(f"cluster {cluster.name}: up")
            with stopwatch.step("cluster up"):
                cluster.up()
            if request.keep_cluster:
                cluster.keep()
            with supervised(cluster, request.folders):
                yield cluster
        finally:
            with stopwatch.step("cluster down"):
                if request.keep_cluster:
                    listener.run_progress(
                        f"cluster {cluster.name} is kept; use it with KUBECONFIG="
                        f"{cluster.kubeconfig}, end it with: stowage down {cluster.name}"
                    )
                else:
                    listener.run_progress(f"cluster {cluster.name}: down")
                    take_down(cluster)


@contextmanager
def open_context(request: RunRequest, run_id: str, listener: Listener, stopwatch: Stopwatch) -> Iterator[RunContext]:
    """Yield the cluster of a run with watches on it; raises as `open_cluster`."""
    with (
        open_cluster(request, listener, stopwatch) as cluster,
        cluster.api_client() as api,
        Observer(api, list_sources(api)) as observer,
        stopwatch.step("scenarios"),
    ):
        lasting = request.cluster is not None or request.keep_cluster
        yield RunContext(cluster, api, observer, tag=run_id[-4:], lasting=lasting)
