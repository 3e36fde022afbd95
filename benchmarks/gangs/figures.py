"""What the rows of clusters with gangs come to."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

from benchmarks.engine import failing_figure
from benchmarks.gangs.outcome import Outcome
from benchmarks.optimizer.figures import LATE_MS, SHOWN, contradictions
from benchmarks.optimizer.measurement import Record, Value
from benchmarks.optimizer.scope import LIMIT_S
from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.text.figure import Figure, at_least, at_most, figure, share_percent


@dataclass(frozen=True, slots=True)
class Row:
    """A cluster after the optimiser's plan, and after the stock scheduler's work.

    Parameters
    ----------
    proofs
        The method of each phase of a tier that is proved.
    stock
        None if the stock scheduler comes to no end: it goes on evicting pods that it then places again.
    violations
        What the checker finds wrong with the plan.
    claims, refuted
        Bounds that come with prices, and which of them the checker does not confirm.
    """

    record: Record
    nodes: int
    plan: Outcome
    stock: Outcome | None
    stock_s: float
    proofs: tuple[str, ...]
    violations: tuple[str, ...]
    claims: int
    refuted: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TinyRow:
    """A tiny cluster: the optimiser's plan, and the value of the best of all plans."""

    record: Record
    best: Value


def proofs_of(plan: pb.Plan) -> Iterator[str]:
    """Yield the method of each phase of a tier that is proved, in words."""
    for tier in plan.tiers:
        for one in (tier.place, tier.disrupt):
            if one.status == pb.PROOF_STATUS_PROVED:
                yield pb.ProofMethod.Name(one.method).removeprefix("PROOF_METHOD_").lower().replace("_", " ")


FEWER_VICTIMS_PERCENT = 50
PROVED_PERCENT = 80
BEST_PERCENT = 99


def gang_figures(rows: Sequence[Row]) -> Iterator[Figure]:
    """Yield the figures of clusters that the stock scheduler was given as well."""
    pairs = {one.record.case: (one.plan, one.stock) for one in rows if one.stock is not None}
    yield from _gangs(pairs)
    yield from _victims([*pairs.values()])
    yield failing_figure(
        "clusters with which stock comes to no end", {one.record.case: one.stock is not None for one in rows}, target=""
    )
    yield from _proofs(rows)
    yield failing_figure("plans that break a rule", {one.record.case: not one.violations for one in rows})
    claims, refuted = sum(one.claims for one in rows), [two for one in rows for two in one.refuted]
    yield Figure(
        "bounds with prices that the checker refutes", len(refuted) if claims else None, "bounds", "<= 0",
        not refuted if claims else None, claims, note="; ".join(refuted[:SHOWN]),
    )  # fmt: skip
    late = [1000 * (one.record.wall_s - LIMIT_S) for one in rows]
    yield figure("answer after the limit, at most", "ms", late, max, at_most(LATE_MS, "ms"))
    yield figure("stock: time of a cluster", "s", [one.stock_s for one in rows], median)


def _gangs(pairs: Mapping[str, tuple[Outcome, Outcome]]) -> Iterator[Figure]:
    """Yield who has more in whole gangs. A tier decides where all above it are equal."""
    yield failing_figure(
        "clusters with fewer pods in whole gangs than with stock",
        {case: plan.gang_pods >= stock.gang_pods for case, (plan, stock) in pairs.items()},
    )
    yield failing_figure(
        "clusters with fewer whole gangs than with stock",
        {case: plan.gangs >= stock.gangs for case, (plan, stock) in pairs.items()},
        target="",
    )
    yield failing_figure(
        "clusters with fewer pods with a node than with stock",
        {case: plan.pods >= stock.pods for case, (plan, stock) in pairs.items()},
        target="",
    )
    yield failing_figure(
        "clusters in which stock does better by the objective of plans",
        {case: plan.value >= stock.value for case, (plan, stock) in pairs.items()},
        target="",
    )
    more = [float(plan.gang_pods > stock.gang_pods) for plan, stock in pairs.values()]
    yield figure("clusters with more pods in whole gangs than with stock", "%", more, share_percent, spread=False)
    for tier in range(max((len(stock.gangs) for _, stock in pairs.values()), default=0)):
        here = [(plan, stock) for plan, stock in pairs.values() if tier < len(stock.gangs)]
        name = f"priority {tier + 1} from the top"
        yield _beside(f"{name}: whole gangs", [(plan.gangs[tier], stock.gangs[tier]) for plan, stock in here])
        yield _beside(
            f"{name}: pods in whole gangs", [(plan.gang_pods[tier], stock.gang_pods[tier]) for plan, stock in here]
        )


def _beside(name: str, pairs: Sequence[tuple[int, int]]) -> Figure:
    """Return the sum of what the plans have, with that of the stock scheduler in the note."""
    stock = sum(theirs for _, theirs in pairs)
    return figure(name, "", [float(mine) for mine, _ in pairs], sum, spread=False, note=f"stock: {stock}")


def _victims(pairs: Sequence[tuple[Outcome, Outcome]]) -> Iterator[Figure]:
    """Yield how many fewer victims there are: counted with the pods that a gang is left with, and without."""
    back = sum(stock.disrupted - stock.lost for _, stock in pairs)
    for name, least, note, counts in (
        (
            "victims, with the rest of broken gangs", FEWER_VICTIMS_PERCENT, "",
            [(plan.victims, stock.victims) for plan, stock in pairs],
        ),
        (
            "victims", FEWER_VICTIMS_PERCENT, "pods that ran and have no node at the end",
            [(plan.lost, stock.lost) for plan, stock in pairs],
        ),
        (
            "pods that left their node", None, f"the plans' moves among them, and {back} that stock placed again",
            [(plan.disrupted, stock.disrupted) for plan, stock in pairs],
        ),
    ):  # fmt: skip
        mine, theirs = (sum(one) for one in zip(*counts, strict=True)) if counts else (0, 0)
        saved = 100 * (1 - mine / theirs) if theirs else None
        yield Figure(
            f"{name}: fewer than with stock", saved, "%", f">= {least} %" if least else "",
            saved >= least if least and saved is not None else None, len(pairs),
            note="; ".join(filter(None, (f"{mine} instead of {theirs}", note))),
        )  # fmt: skip


def _proofs(rows: Sequence[Row]) -> Iterator[Figure]:
    """Yield how many plans are proved best, in clusters of each size, and by which methods."""
    by_nodes: defaultdict[int, list[float]] = defaultdict(list)
    for one in rows:
        by_nodes[one.nodes].append(float(one.record.optimal))
    proved, least = [float(one.record.optimal) for one in rows], at_least(PROVED_PERCENT, "%")
    yield figure(f"all tiers proved in {LIMIT_S:g} s", "%", proved, share_percent, least, spread=False)
    for nodes, own in sorted(by_nodes.items()):
        yield figure(f"{nodes} nodes: all tiers proved", "%", own, share_percent, spread=False)
    methods = Counter(method for one in rows for method in one.proofs)
    for method, times in methods.most_common():
        yield Figure(f"proofs by {method}", 100 * times / methods.total(), "%", runs=methods.total())


def tiny_figures(rows: Sequence[TinyRow]) -> Iterator[Figure]:
    """Yield the figures of clusters of which all plans are known."""
    best = [float(one.record.value == one.best) for one in rows]
    yield figure(
        "tiny: plans as good as the best of all", "%", best, share_percent, at_least(BEST_PERCENT, "%"), spread=False
    )
    yield figure(
        "tiny: all tiers proved", "%", [float(one.record.optimal) for one in rows], share_percent, spread=False
    )
    every = [replace(one.record, arm="the best plan", value=one.best, tiers=()) for one in rows]
    found = contradictions([*(one.record for one in rows), *every])
    yield Figure(
        "tiny: claims that some plan refutes", len(found) if rows else None, "claims", "<= 0",
        not found if rows else None, len(rows), note="; ".join(found[:SHOWN]),
    )  # fmt: skip
