"""What can go wrong with plans, one class a cause."""

from __future__ import annotations

from stowage_testbed.errors import StowageError


class NoClusterError(StowageError):
    """No kubeconfig names a cluster."""

    def __init__(self, cause: str) -> None:
        super().__init__(
            f"no cluster to talk to: {cause}; set KUBECONFIG, or name one of the "
            "testbed's own clusters with --cluster"
        )


class ClusterSilentError(StowageError):
    """The cluster does not answer."""

    def __init__(self, cause: str) -> None:
        super().__init__(
            f"the cluster does not answer: {cause}; see whether it is up, and whether "
            "the kubeconfig names the right one"
        )


class PlanMissingError(StowageError):
    """There is no such plan."""

    def __init__(self, name: str | None) -> None:
        which = "no PackingPlan" if name is None else f"no PackingPlan called {name!r}"
        super().__init__(f"there is {which}; list them with: kubectl get packingplans")


class PlanKindMissingError(StowageError):
    """The cluster does not know PackingPlans."""

    def __init__(self) -> None:
        super().__init__(
            "this cluster has no PackingPlans: install the chart first "
            "(helm install stowage charts/stowage)"
        )


class PlanPhaseError(StowageError):
    """The plan is not in a phase in which that can be done."""

    def __init__(self, name: str, phase: str, wanted: str) -> None:
        super().__init__(f"plan {name} is {phase or 'not taken up yet'}, {wanted}")


class PlanRefusedError(StowageError):
    """The API server does not allow it."""

    def __init__(self, what: str, cause: str) -> None:
        super().__init__(f"the API server refuses to {what}: {cause}")
