"""Pods of nodes that are gone."""

from __future__ import annotations

from stowage_testbed.run.context import RunContext


def collect_pods(context: RunContext, namespace: str, node: str) -> None:
    """Delete the pods of a node that is gone.

    That is what the pod garbage collector does, which waits for most of a minute.
    """
    for pod in context.observer.read(lambda state: state.all_pods(namespace)):
        if pod.node == node:
            context.objects.delete("Pod", pod.name, namespace=namespace, at_once=True)
