"""Moves after a policy: the optimiser's plan for the pods that it refused, and the bound beside it.

A GPU is a device of 100 hundredths that pods share. A placed pod counts as many as it has, so that a plan aims at GPUs
and not at pods; one without a GPU counts one.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from time import perf_counter

import numpy as np

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.base.errors import StowageError
from stowage_testbed.optimizer_service.service import call_failed
from stowage_testbed.reproduce.fgd.simulation import NOWHERE
from stowage_testbed.reproduce.fgd.workload import MILLI, MOST_GPUS, Fleet, Ints, NodeArrays, PodList
from stowage_testbed.reproduce.sweep import Tools

UNIT = 10
"""Thousandths of a GPU in what is planned with; all pods of the trace ask for multiples."""

MOST_PODS = 1000
"""Of a node; the trace knows no limit."""

CAPACITY = "gpu"
NAMESPACE = "trace"
NODE = "node-"
MIB = 2**20
SEED = 1
LIMIT_S = 10.0


@dataclass(frozen=True, slots=True)
class MoveRow:
    """What moves add to a policy's placements in one order of arrival, at a load in percent of all GPUs.

    Parameters
    ----------
    most_percent
        Of the placed pods, how many may move.
    before, after
        Allocated GPUs in percent.
    bound
        Proved: no plan that keeps running pods allocates more, in percent, however many it moves.
    """

    pods: str
    policy: str
    seed: int
    load: int
    most_percent: float
    placed: int
    waiting: int
    moves: int
    before: float
    after: float
    bound: float
    end_reason: str
    wall_s: float


@dataclass(frozen=True, slots=True, eq=False)
class FleetState:
    """Pods that have arrived and where a policy placed them; ``node`` is negative where none had room."""

    pods: PodList
    fleet: Fleet
    nodes: NodeArrays
    arrived: Ints
    node: Ints
    devices: Ints

    def at(self, load: float) -> "FleetState":
        """Return the state when the pods that have arrived ask for ``load`` percent of the GPUs."""
        asked = np.cumsum(self.pods.gpu_milli[self.arrived]) / self.fleet.gpu_milli * 100
        end = int(np.searchsorted(asked, load, side="right"))
        return replace(self, arrived=self.arrived[:end], node=self.node[:end], devices=self.devices[:end])

    def allocated(self, node: Ints) -> float:
        """Return what pods on these nodes have of all GPUs, in percent."""
        return 100 * float(self.pods.gpu_milli[self.arrived][node >= 0].sum()) / self.fleet.gpu_milli

    def snapshot(self) -> pb.Snapshot:
        """Return the state as the optimiser is asked about it; every running pod may move."""
        message = pb.Snapshot(id=f"{self.pods.name}-{len(self.arrived)}")
        self._add_nodes(message)
        self._add_classes(message)
        for number, (of, at) in enumerate(zip(self.arrived.tolist(), self.node.tolist(), strict=True)):
            node = f"{NODE}{at}" if at >= 0 else ""
            message.pods.add(
                uid=str(number), namespace=NAMESPACE, name=str(number), class_id=str(of), node=node, movable=True
            )
            share = int(self.pods.pods.gpu_milli[of]) // UNIT
            for device in bits(int(self.devices[number])) if at >= 0 else ():
                message.device_holdings.add(node=node, device=device, pod_uid=str(number), amounts={CAPACITY: share})
        return message

    def _add_nodes(self, message: pb.Snapshot) -> None:
        layouts = set[str]()
        for number, (cpu, memory, gpus, model, _) in enumerate(zip(*(one.tolist() for one in self.nodes), strict=True)):
            name = self.fleet.models[model]
            node = message.nodes.add(
                name=f"{NODE}{number}",
                allocatable=pb.Resources(cpu_milli=cpu, memory_bytes=memory * MIB, pods=MOST_PODS),
                device_layout=f"{gpus} {name}",
            )
            if node.device_layout not in layouts:
                layouts.add(node.device_layout)
                layout = message.device_layouts.add(id=node.device_layout)
                for device in range(gpus):
                    capacity = {CAPACITY: MILLI // UNIT}
                    layout.devices.add(name=f"gpu-{device}", kind=name, shared=True, capacity=capacity)

    def _add_classes(self, message: pb.Snapshot) -> None:
        requests = set[str]()
        for number, (cpu, memory, gpus, milli, models) in enumerate(
            zip(*(one.tolist() for one in self.pods.pods), strict=True)
        ):
            one = message.pod_classes.add(
                id=str(number),
                namespace=NAMESPACE,
                owner=pb.Owner(kind="Trace", name=str(number), uid=str(number)),
                requests=pb.Resources(cpu_milli=cpu, memory_bytes=memory * MIB),
                worth=max(1, gpus * milli // UNIT),
            )
            if not gpus:
                continue
            request = f"{gpus} x {milli} of {models:b}"
            one.device_requests.append(request)
            if request in requests:
                continue
            requests.add(request)
            amounts = {CAPACITY: milli // UNIT}
            takes = [pb.DeviceTake(device_kind=self.fleet.models[at], amounts=amounts) for at in bits(models)]
            message.device_requests.add(id=request, first_available=[pb.DeviceChoice(count=gpus, takes=takes)])

    def carried_out(self, plan: pb.Plan) -> Ints:
        """Return where each pod is after a plan; a `StowageError` if it breaks a rule of the trace.

        All that move leave first. Those that come do so in turn, and each gets the first GPUs that have room.
        """
        pods, nodes = self.pods.pods, self.nodes
        node, cpu, memory = self.node.copy(), nodes.cpu_milli.copy(), nodes.memory_mib.copy()
        free = np.where(np.arange(MOST_GPUS) < nodes.gpus[:, None], MILLI, 0)
        arrivals = [(one.turn, int(one.pod_uid), one.node, tuple(one.devices)) for one in plan.placements]
        arrivals += [(one.turn, int(one.pod_uid), one.to_node, tuple(one.devices)) for one in plan.moves]
        node[[pod for _, pod, _, _ in arrivals]] = NOWHERE

        def take(pod: int, at: int, devices: Sequence[int]) -> None:
            of = self.arrived[pod]
            cpu[at] -= pods.cpu_milli[of]
            memory[at] -= pods.memory_mib[of]
            free[at, list(devices)] -= pods.gpu_milli[of]
            node[pod] = at

        for pod in np.flatnonzero(node >= 0).tolist():
            take(pod, int(self.node[pod]), bits(int(self.devices[pod])))
        for _, pod, name, devices in sorted(arrivals):
            of, at = self.arrived[pod], int(name.removeprefix(NODE))
            wanted = int(pods.gpus[of]) if pods.models[of] >> nodes.model[at] & 1 else 0
            room = tuple(np.flatnonzero(free[at] >= pods.gpu_milli[of])[:wanted].tolist())
            if room != devices or len(devices) != pods.gpus[of]:
                raise StowageError(f"{self.pods.name}: pod {pod} gets GPUs {room} of {name}, not {devices}")
            take(pod, at, devices)
        if min(cpu.min(), memory.min(), free.min()) < 0 or len(plan.evictions):
            raise StowageError(f"{self.pods.name}: the plan evicts pods or takes more than a node has")
        return node


def bits(mask: int) -> tuple[int, ...]:
    """Return the places of the bits that are set, ascending."""
    return tuple(at for at in range(mask.bit_length()) if mask >> at & 1)


@dataclass(frozen=True, slots=True)
class MoveTask:
    """Moves after a policy on a list in one order of arrival; numbers are as of `MoveRow`."""

    pods: str
    policy: str
    seed: int
    load: int
    most_percent: float

    @property
    def id(self) -> str:
        """Its name in a sweep."""
        return f"{self.pods} {self.policy} {self.seed} at {self.load} % with {self.most_percent:g} % moved"


def plan_moves(task: MoveTask, state: FleetState, tools: Tools) -> MoveRow:
    """Return what a plan adds to ``state``; a `StowageError` without an answer, or if the plan breaks a rule."""
    placed = int((state.node >= 0).sum())
    options = pb.SolveOptions(
        time_limit_s=LIMIT_S,
        seed=SEED,
        workers=tools.cores,
        max_moves=int(placed * task.most_percent / 100),
        max_evictions=0,
    )
    request = pb.SolveRequest(snapshot=state.snapshot(), options=options)
    service = tools.service
    began = perf_counter()
    try:
        last = service.last_answer(request)
    except StowageError as error:
        raise call_failed(task.id, "the optimiser", str(error)) from None
    wall_s = perf_counter() - began
    if not last.plan.tiers:
        raise call_failed(task.id, "the optimiser", last.message or "no plan came in time")
    after = state.carried_out(last.plan)
    # Pods without a GPU count one each: those that run are placed in every plan.
    uncounted = int((state.pods.gpu_milli[state.arrived][state.node >= 0] == 0).sum())
    bound = sum(one.upper_bound for one in last.plan.tiers) - uncounted
    return MoveRow(
        **asdict(task),
        placed=placed,
        waiting=len(state.node) - placed,
        moves=len(last.plan.moves),
        before=state.allocated(state.node),
        after=state.allocated(after),
        bound=100 * UNIT * bound / state.fleet.gpu_milli,
        end_reason=pb.EndReason.Name(last.end_reason).removeprefix("END_REASON_"),
        wall_s=wall_s,
    )
