"""Touching every part of the solver once, before a call has to wait for it.

A child shares its memory with the fork server until it writes there, and copying a page
takes longer than most of the work on it. So an idle child reads a small request too.
"""

import gc

import numpy as np
from ortools.sat.python import cp_model

from stowage_optimizer.assignments.solution_writer import SolutionWriter
from stowage_optimizer.bounds.dual import DualSearch
from stowage_optimizer.bounds.enumeration import Enumeration
from stowage_optimizer.bounds.phase import Phase, Question
from stowage_optimizer.bounds.proofs import trivial_bounds
from stowage_optimizer.constraints.reduction import reduce_snapshot
from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.model.decode import decode_options, decode_snapshot
from stowage_optimizer.model.encode import encode_plan
from stowage_optimizer.model.issues import Issues
from stowage_optimizer.model.objective import TierScore
from stowage_optimizer.model.options import DEFAULT_STRATEGY, Policy
from stowage_optimizer.model.problem import NOWHERE, make_problem
from stowage_optimizer.search.cache import BACKGROUND_PARTS, DEVICES, BackgroundCompiler
from stowage_optimizer.search.warmup import PARTS


def warm_up(compiler: BackgroundCompiler) -> None:
    """Load or compile hot loops, solve the smallest problem, and settle the heap.

    A pass of the garbage collector over all that was imported takes longer than the
    search's slices, and would copy the memory that children share.

    Parameters
    ----------
    compiler
        The process that compiles some of the loops meanwhile.
    """
    compiler.begin("bounds")
    _warm_up_bounds()
    for name, compile_or_load in PARTS.items():
        if name not in (*BACKGROUND_PARTS, DEVICES):
            compiler.begin(name)
            compile_or_load()
    model = cp_model.CpModel()
    chosen = model.new_bool_var("chosen")
    model.maximize(chosen)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.solve(model)
    compiler.wait()
    for name in BACKGROUND_PARTS:
        PARTS[name]()
    gc.collect()
    gc.freeze()


def warm_up_devices() -> None:
    """Compile or load the hot loops for pods that ask for devices."""
    PARTS[DEVICES]()


def _warm_up_bounds() -> None:
    """Ask for one bound, so that its hot loops are compiled or loaded."""
    pods, nowhere = np.zeros(3, np.int32), np.full(3, NOWHERE, np.int32)
    problem = make_problem([((1,), 0, (0,))], pods, nowhere, ((2,),), tiers=1)
    question = Question(problem, 0, Phase.PLACE, (TierScore(0, 0, 0),))
    bound = DualSearch(question, nowhere.astype(np.int64), lambda: 0.0).run(deadline=60.0)
    if bound is not None and bound.prices is not None:
        # Something better than 1 exists: all of it runs.
        listing = Enumeration(question, bound.prices)
        listing.reach(1, clock=lambda: 0.0, deadline=60.0)


PODS = 20
"""A plan with some of everything."""


def warm_up_child() -> None:
    """Read a small request, write a plan for it, and forget both."""
    body = pb.SolveRequest(snapshot=_snapshot()).SerializeToString()
    request = pb.SolveRequest.FromString(body)
    issues = Issues()
    snapshot = decode_snapshot(request.snapshot, issues)
    decode_options(request.options, issues, strategies={DEFAULT_STRATEGY}, default_time_limit_s=1.0, default_workers=0)
    packing = reduce_snapshot(snapshot)
    elsewhere = tuple((home or 0) ^ 1 for home in packing.current)
    writer = SolutionWriter(packing, Policy.STRICT)
    solution = writer.write(elsewhere, trivial_bounds(packing))
    encode_plan(solution).SerializeToString()


def _snapshot() -> pb.Snapshot:
    return pb.Snapshot(
        id="warm-up",
        nodes=[pb.Node(name=name, allocatable=pb.Resources(cpu_milli=PODS, pods=PODS)) for name in ("a", "b")],
        pod_classes=[
            pb.PodClass(
                id=f"class-{number}",
                namespace="n",
                priority=number % 2,
                labels={"number": str(number)},
                requests=pb.Resources(cpu_milli=1),
            )
            for number in range(PODS // 2)
        ],
        pods=[
            pb.Pod(
                uid=f"{number}",
                namespace="n",
                name=f"{number}",
                class_id=f"class-{number // 2}",
                node="a" if number % 2 else "",
                movable=True,
            )
            for number in range(PODS)
        ],
    )
