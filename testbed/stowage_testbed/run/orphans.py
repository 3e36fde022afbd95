"""Pods of nodes that are gone."""

from __future__ import annotations

from stowage_testbed.run.bench import Bench


def collect_pods(bench: Bench, namespace: str, node: str) -> None:
    """Delete the pods of a node that is gone.

    That is what the pod garbage collector does, which waits for most of a minute.
    """
    for pod in bench.observer.read(lambda state: state.all_pods(namespace)):
        if pod.node == node:
            bench.objects.delete("Pod", pod.name, namespace=namespace, at_once=True)
