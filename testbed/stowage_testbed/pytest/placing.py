"""Where the pods of a test ended up, once that is decided."""

from __future__ import annotations

from stowage_testbed.base.errors import StowageError
from stowage_testbed.observe.condition import SHOWN, Condition, ConditionResult, plans_in_words
from stowage_testbed.observe.observer import Observer
from stowage_testbed.observe.plan import ObservedPlan
from stowage_testbed.observe.pod import Pod
from stowage_testbed.observe.source import PACKING_PLANS, PODS
from stowage_testbed.observe.state import State
from stowage_testbed.pytest.completeness import CONTROLLERS, missing_pods
from stowage_testbed.pytest.environment import SessionEnvironment
from stowage_testbed.pytest.plain import plain
from stowage_testbed.scenario.model import QUIET_S

TIMEOUT_S = 60.0
_GATED = "SchedulingGated"


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

        It is decided when every controller has made its pods, each is bound or was
        found unschedulable, and nothing has changed for a moment. With an optimiser,
        also when its plan is carried out, or has shown that no more pods fit.

        Parameters
        ----------
        namespace
            Another than the test's own.
        pods
            How many there must be at least, for pods of controllers that Kubernetes
            does not know.
        placed
            How many must have a node at least, for pods that were found unschedulable
            before the test made room for them.
        timeout_s
            Deadline from now.

        Raises
        ------
        StowageError
            The test asks for no scheduler.
        WaitTimeoutError
            The deadline passed; says of each pod what it waits for.
        UnreachableStateError
            A plan failed.
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


def all_decided(namespace: str, *, optimizes: bool, pods: int = 0, placed: int = 0) -> Condition:
    """Hold when nothing more will become of the pods of a namespace by itself."""

    def condition(state: State) -> ConditionResult:
        there = state.all_pods(namespace)
        bound = sum(pod.bound for pod in there)
        missing = missing_pods(state, namespace)
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
        settled = all(plan.finished for plan in plans) and _concluded(there, plans)
        return ConditionResult(holds and settled, f"{words}; {plans_in_words(plans)}", error=broken)

    return condition


def _is_decided(pod: Pod) -> bool:
    if pod.terminating:
        return False
    waits = pod.unschedulable or pod.waiting_reason == _GATED
    return pod.bound or pod.finished or waits


def _concluded(pods: list[Pod], plans: list[ObservedPlan]) -> bool:
    """Return whether a plan has spoken of pods that have no node."""
    pending = any(pod.unschedulable for pod in pods)
    return not pending or (bool(plans) and plans[-1].conclusive)


def _in_words(pods: list[Pod], open_pods: list[Pod]) -> str:
    bound = sum(pod.bound for pod in pods)
    text = f"{len(pods)} pods, {bound} with a node, {len(open_pods)} undecided"
    waiting = [*open_pods, *(pod for pod in pods if _is_decided(pod) and not pod.bound)]
    said = [f"{pod.key}: leaving" if pod.terminating else pod.why_pending() for pod in waiting[:SHOWN]]
    more = len(waiting) - SHOWN
    if more > 0:
        said.append(f"and {more} more")
    return f"{text} ({'; '.join(said)})" if said else text
