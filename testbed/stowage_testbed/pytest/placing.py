"""Where the pods of a test ended up, once that is decided."""

from collections.abc import Iterator, Sequence

from stowage_testbed.api.objects import is_observed
from stowage_testbed.base.errors import StowageError
from stowage_testbed.observe.change import JsonObject, name_of
from stowage_testbed.observe.condition import SHOWN, ConditionResult, condition, plans_in_words
from stowage_testbed.observe.observer import Observer
from stowage_testbed.observe.pod import Pod
from stowage_testbed.observe.source import (
    DAEMON_SETS,
    DEPLOYMENTS,
    JOBS,
    PACKING_PLANS,
    PODS,
    REPLICA_SETS,
    STATEFUL_SETS,
)
from stowage_testbed.observe.state import State
from stowage_testbed.pytest.environment import SessionEnvironment
from stowage_testbed.pytest.plain import plain
from stowage_testbed.scenario.steps.checking import QUIET_S

TIMEOUT_S = 60.0
CONTROLLERS = (DEPLOYMENTS, REPLICA_SETS, STATEFUL_SETS, DAEMON_SETS, JOBS)
"""What must be watched besides pods."""


class Placements:
    """Waits for the pods of a namespace, the test's own, and says where they are."""

    def __init__(self, environment: SessionEnvironment, namespace: str) -> None:
        self._environment = environment
        self._namespace = namespace

    @plain
    def __call__(
        self, namespace: str | None = None, *, pods: int = 0, placed: int = 0, timeout_s: float = TIMEOUT_S
    ) -> dict[str, str | None]:
        """Return the node of each pod by the pod's name; ``None`` if there is none.

        It is decided when every controller has made its pods, each is bound or was found unschedulable, and nothing has
        changed for a moment. With an optimiser, also when its plan is carried out, or has shown that no more pods fit.

        Parameters
        ----------
        namespace
            Another than the test's own.
        pods
            How many there must be at least, for pods of controllers that Kubernetes does not know.
        placed
            How many must have a node at least, for pods that were unschedulable before the test made room for them.
        timeout_s
            Deadline from now, in seconds.

        Raises
        ------
        StowageError
            The test asks for no scheduler, or a plan failed.
        WaitTimeoutError
            The deadline passed; says of each pod what it waits for.
        """
        where = namespace or self._namespace
        if not self._environment.has_scheduler:
            raise StowageError(
                f"no scheduler places the pods of {where}: this test asks for none; "
                'call stowage_arm("default") or stowage_release() in it, or in a '
                "fixture that it uses"
            )
        optimizes = self._environment.optimizes
        sources = [PODS, *CONTROLLERS, *([PACKING_PLANS] if optimizes else [])]
        with Observer(self._environment.api, sources) as observer:
            observer.wait_for(
                f"the pods of {where} to be placed or found unschedulable",
                all_decided(where, optimizes=optimizes, pods=pods, placed=placed),
                timeout_s=timeout_s,
                quiet_s=QUIET_S,
                quiet_kinds=("Pod", "PackingPlan"),
            )
            return observer.read(lambda state: {pod.name: pod.node or None for pod in state.all_pods(where)})


@condition
def all_decided(state: State, namespace: str, *, optimizes: bool, pods: int = 0, placed: int = 0) -> ConditionResult:
    """Hold when nothing more will become of the pods of a namespace by itself."""
    there = state.all_pods(namespace)
    bound = sum(pod.bound for pod in there)
    missing = [
        f"{kind} {name} has {has} of {wants} pods"
        for kind, name, wants, has in _count_pods(state, namespace)
        if has < wants
    ]
    if len(there) < pods:
        missing.append(f"{len(there)} of {pods} pods exist")
    if bound < placed:
        missing.append(f"{bound} of {placed} pods have a node")
    open_pods = [pod for pod in there if not _is_decided(pod)]
    words = "; ".join([*missing, _in_words(there, open_pods)])
    holds = not missing and not open_pods
    if not optimizes:
        return ConditionResult(holds, words)
    plans = state.plans()
    broken = plans[-1].in_words() if plans and plans[-1].broken else ""
    # A plan must have spoken of pods that have no node.
    pending = any(pod.unschedulable for pod in there)
    concluded = not pending or (bool(plans) and plans[-1].conclusive)
    settled = all(plan.finished for plan in plans) and concluded
    return ConditionResult(holds and settled, f"{words}; {plans_in_words(plans)}", error=broken)


def _is_decided(pod: Pod) -> bool:
    waits = pod.unschedulable or pod.waiting_reason == "SchedulingGated"
    return not pod.terminating and (pod.bound or pod.finished or waits)


def _in_words(pods: list[Pod], open_pods: list[Pod]) -> str:
    bound = sum(pod.bound for pod in pods)
    text = f"{len(pods)} pods, {bound} with a node, {len(open_pods)} undecided"
    waiting = [*open_pods, *(pod for pod in pods if _is_decided(pod) and not pod.bound)]
    said = [f"{pod.key}: leaving" if pod.terminating else pod.why_pending() for pod in waiting[:SHOWN]]
    more = len(waiting) - SHOWN
    if more > 0:
        said.append(f"and {more} more")
    return f"{text} ({'; '.join(said)})" if said else text


def _count_pods(state: State, namespace: str) -> Iterator[tuple[str, str, int, int]]:
    """Yield kind and name of each controller, how many pods or ReplicaSets it is to have, and how many it has."""
    live = [pod for pod in state.all_pods(namespace) if not pod.terminating]
    for kind in ("ReplicaSet", "StatefulSet", "DaemonSet", "Job"):
        for body in state.bodies(kind, namespace):
            own = [pod for pod in live if (pod.owner_kind, pod.owner_name) == (kind, name_of(body))]
            yield kind, name_of(body), _wanted_pods(kind, body, own), len(own)
    for body in state.bodies("Deployment", namespace):
        uid = body["metadata"]["uid"]
        sets = [
            one["spec"].get("replicas", 1)
            for one in state.bodies("ReplicaSet", namespace)
            if any(owner["uid"] == uid for owner in one["metadata"].get("ownerReferences", ()))
        ]
        wants = body["spec"].get("replicas", 1) if is_observed(body) else sum(sets) + 1
        yield "Deployment", name_of(body), wants, sum(sets)


def _wanted_pods(kind: str, body: JsonObject, own: Sequence[Pod]) -> int:
    spec = body["spec"]
    match kind:
        case "StatefulSet" if any(pod.unschedulable for pod in own):
            # Pods come one by one, each when the one before is ready.
            return len(own)
        case "DaemonSet":
            wanted: int = (body.get("status") or {}).get("desiredNumberScheduled", 0)
            return wanted if is_observed(body) else len(own) + 1
        case "Job":
            at_once: int = spec.get("parallelism", 1)
            return 0 if spec.get("suspend") else min(at_once, spec.get("completions") or at_once)
    replicas: int = spec.get("replicas", 1)
    return replicas
