"""Every metric of a run, in one fixed order, and how it is measured, apart from latencies, gangs and inversions."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from statistics import fmean, pstdev

from stowage_testbed.amounts.resources import CPU, DEVICE, DEVICES, MEMORY, PODS, Resources, in_bytes, in_milli
from stowage_testbed.hpa.model import replicas_needed
from stowage_testbed.hpa.recovery import HpaRecord
from stowage_testbed.metrics.free_room import FreeRoom
from stowage_testbed.metrics.gangs import measure_gangs, measure_victims
from stowage_testbed.metrics.inversions import measure_inversions
from stowage_testbed.metrics.latency import measure_latency, measure_throughput
from stowage_testbed.metrics.record import (
    Better,
    Metric,
    RunRecord,
    StepLine,
    add_up,
    count_waiting,
    find_placed_span,
    find_state_at_end,
    find_state_at_start,
    make_metric,
    note_unlogged,
)
from stowage_testbed.metrics.state import compute_utilisation, count_pods_per_node, sum_requested_per_node
from stowage_testbed.observe.change import RESOLUTION_S

TOP = 5
"""The paper prints its five fullest nodes."""


def measure_distribution(record: RunRecord) -> Iterator[Metric]:
    """Yield spread, Jain's index and top-5 skew at the window's end; the index is of amounts, as in the paper."""
    state = find_state_at_end(record)
    pods = list(count_pods_per_node(state).values())
    n, nothing = len(record.nodes), "nothing is placed"
    for what, value in compute_spread(pods).items():
        better: Better = "lower" if what in {"std", "cv"} else "neither"
        yield make_metric(
            f"pods_per_node_{what}", value, "ratio" if what == "cv" else "pods", better, n, missing=nothing
        )
    requested = sum_requested_per_node(state)
    unequal = len({node.resources.without(PODS) for node in record.nodes}) > 1
    loads = {"pods": pods} | {
        name: [requested[node.name][name] for node in record.nodes if node.resources[name]] for name in state.resources
    }
    for name, amounts in loads.items():
        note = "of amounts, and the nodes are unequal" if unequal and name != "pods" else ""
        yield make_metric(
            f"jain_{name}", jain_index(amounts), "index", "higher", len(amounts), note=note, missing=nothing
        )
    fullest, missing = sum(sorted(pods, reverse=True)[:TOP]), f"needs more than {TOP} nodes and a pod"
    share = Fraction(fullest, sum(pods)) if len(pods) > TOP and any(pods) else None
    yield make_metric("top5_share_pods", share, "ratio", "lower", n, missing=missing)


def compute_spread(loads: Sequence[int]) -> dict[str, float | None]:
    """Return least, most, mean, population standard deviation and coefficient of variation; ``None`` if undefined."""
    if not loads:
        return dict.fromkeys(("min", "max", "mean", "std", "cv"))
    mean, std = fmean(loads), pstdev(loads)
    return {"min": min(loads), "max": max(loads), "mean": mean, "std": std, "cv": std / mean if mean else None}


def jain_index(loads: Sequence[int]) -> Fraction | None:
    """Return (sum x)^2 / (n * sum x^2), 1/n to 1 (Jain, Chiu, Hawe, DEC-TR-301, 1984); ``None`` without load."""
    squares = sum(load * load for load in loads)
    return Fraction(sum(loads) ** 2, len(loads) * squares) if squares else None


_NAMED = {CPU, MEMORY}
"""Resources whose unit stands in the names of metrics; what others are counted in their own names say."""
_IN_PARTS = "shares and partitions of devices need the contents of each device"


def measure_fragmentation(record: RunRecord) -> Iterator[Metric]:
    """Yield largest free room, largest pod that fits, stranded and fragmented share at the window's end.

    *Stranded* is what lies idle because another resource of its node is used up (Verma et al., "Large-scale cluster
    management at Google with Borg", EuroSys 2015). *Fragmented* is the share of what is free that the next pod, drawn
    from the scenario's pods that ask for it, cannot use where it lies (Weng et al., "Beware of Fragmentation", USENIX
    ATC 2023, their measure F, with whole pods).
    """
    bound = find_state_at_end(record).bound
    room = FreeRoom(
        {node.name: node.resources for node in record.nodes}, ((str(pod.node), pod.requests) for pod in bound)
    )
    of, n = Counter(pod.requests for pod in record.pods), len(record.nodes)
    capacities = {name: int(room.size[name].sum()) for name in room.names}

    def size(shape: Resources) -> tuple[Fraction, list[int]]:
        """Return the dominant share, and for ties cpu, memory, other."""
        shares = (Fraction(shape[name], capacity or 1) for name, capacity in capacities.items())
        return max(shares), [shape[name] for name in room.names]

    # Amounts alone do not say whether a share fits a device, nor a whole device beside shares.
    in_parts = {name for name in capacities if name.startswith(DEVICES) and any(shape[name] % DEVICE for shape in of)}
    undecided = [shape for shape in of if not in_parts.isdisjoint(shape)]
    fit = max((one for one in of if room.fits(one).any()), key=size, default=None)
    for resource, capacity in capacities.items():
        free = room.free[resource]
        unit = "milli" if in_milli(resource) else "bytes" if in_bytes(resource) else "units"
        named = f"{resource}_{unit}" if resource in _NAMED else resource
        fitting = "" if fit else "no pod of the scenario fits any node"
        for name, amount, note, parts in (
            (f"largest_free_{named}", int(free.max(initial=0)), "", resource in in_parts),
            (f"largest_fit_{named}", fit[resource] if fit else 0, fitting, bool(undecided)),
        ):
            known, missing = n and not parts, _IN_PARTS if parts else "no nodes"
            yield make_metric(name, amount if known else None, unit, "higher", n, 1.0, note, missing)
        parts = any(resource in shape for shape in undecided)
        missing = _IN_PARTS if parts else "no nodes"
        idle = room.count_stranded(of, resource) / capacity if capacity and n and not parts else None
        yield make_metric(f"stranded_{resource}", idle, "ratio", "lower", n, missing=missing)
        # Of each pod that asks for it, what is free where it does not fit.
        askers = {shape: pods for shape, pods in of.items() if resource in shape}
        total = int(free.sum()) * sum(askers.values())
        missing = _IN_PARTS if parts else "nothing is free, or no pod asks for it"
        lost = sum(int(free[~room.fits(shape)].sum()) * pods for shape, pods in askers.items())
        share = Fraction(lost, total) if total and n and not parts else None
        yield make_metric(f"fragmented_{resource}", share, "ratio", "lower", n, missing=missing)


def measure_hpa(record: HpaRecord) -> Iterator[Metric]:
    """Yield the metrics of a recovery run, always the same names in the same order (second paper, 5.2.2 and 5.3.2)."""
    settings, windows, n = record.settings, record.hold, len(record.hold)
    outcome, start_s = record.recovery.outcome, record.hold_start_s
    reasons = {
        "recovered": "",
        "no_degradation": "the service never degraded",
        "no_recovery_within_hold": f"not within {windows[-1].end_s - start_s:g} s (right-censored)",
    }
    recovered = outcome == "recovered"
    ttr_s = record.recovery.ttr_s if recovered else None
    yield Metric("ttr_s", ttr_s, "s", "lower", n, settings.hold.window_s, reasons[outcome])
    yield Metric("recovered_runs", float(recovered), "runs", "higher", n, 1.0, outcome)

    # When enough replicas were ready: TTR is a multiple of the window, and this the same moment without its rounding.
    needed = replicas_needed(settings.service, settings.sla, record.clients, settings.autoscaling.max_replicas)
    at_s, note = None, "not even the most replicas keep the SLA"
    if needed is not None:
        at_s = next((one.at_s for one in record.pods if one.ready >= needed), None)
        note = f"{needed} ready replicas are needed"
    capacity_s = None if at_s is None else max(at_s - start_s, 0.0)
    yield Metric("t_capacity_s", capacity_s, "s", "lower", len(record.pods), RESOLUTION_S, note)

    whole, cut = settings.hold.whole or not recovered, "HOLD was ended at the first recovery"
    mean_s = fmean(window.p99_s for window in windows) if whole else None
    within_sla = sum(window.ok for window in windows) / n if whole else None
    yield Metric("p99_peak_s", max(window.p99_s for window in windows), "s", "lower", n)
    yield make_metric("p99_mean_s", mean_s, "s", "lower", n, missing=cut)
    yield make_metric("ok_rate", within_sla, "", "higher", n, missing=cut)
    yield Metric("hold_clients", record.clients, "clients", "neither", len(record.find))

    # When the autoscaler acted, in seconds of the run as in section 5.3.2.
    first, most = settings.autoscaling.min_replicas, settings.autoscaling.max_replicas
    moments = {
        "t_scale_up_s": (seen.at_s for seen in record.replicas if seen.desired > first),
        "t_desired_most_s": (seen.at_s for seen in record.replicas if seen.desired >= most),
        "t_ready_most_s": (count.at_s for count in record.pods if count.ready >= most),
    }
    n, missing = len(record.replicas), "did not happen"
    for name, found in moments.items():
        yield make_metric(name, next(found, None), "s", "lower", n, RESOLUTION_S, missing=missing)


def sum_requested(record: RunRecord, resource: str) -> StepLine:
    """Return what the bound pods request, from the window's start to its end."""
    spans = ((find_placed_span(pod, record.window_s), pod) for pod in record.pods)
    return add_up((span, pod.requests[resource]) for span, pod in spans if span is not None)


def measure_utilisation(record: RunRecord) -> Iterator[Metric]:
    """Yield utilisation at the end, its change, and its average over the nodes of the whole window, per resource."""
    before, after = (compute_utilisation(state) for state in (find_state_at_start(record), find_state_at_end(record)))
    n, window_s = len(record.nodes), record.window_s
    for resource, end in after.items():
        capacity = sum(node.resources[resource] for node in record.nodes)
        timed = capacity and window_s > 0
        mean = sum_requested(record, resource).mean(window_s) / capacity if timed else None
        # Only the average has to do with time.
        blur = record.resolution_s / window_s if window_s else 0.0
        for what, value, resolution in (
            ("end", end, 0.0),
            ("delta", end - before[resource], 0.0),
            ("mean", mean, blur),
        ):
            name, missing = f"utilisation_{resource}_{what}", "no time passed" if n else "no nodes"
            yield make_metric(name, value if n else None, "ratio", "higher", n, resolution, missing=missing)


CPU_TICK_S = 0.01
PAGE_BYTES = 4096


def metrics_of(record: RunRecord) -> tuple[Metric, ...]:
    """Return the metrics of a run: always the same names in the same order, those of gangs and of a recovery last.

    A name ends in its unit, unless it is a ratio or an index. A failed run has no values, only its reason.
    """
    of_recovery = measure_hpa(record.recovery) if record.recovery else ()
    of_gangs = measure_gangs(record) if record.gangs else ()
    metrics = (*(metric for measure in _MEASURES for metric in measure(record)), *of_gangs, *of_recovery)
    if not record.error:
        return metrics
    return tuple(replace(metric, value=None, note=f"the run failed: {record.error}") for metric in metrics)


def measure_waiting(record: RunRecord) -> Iterator[Metric]:
    """Yield average over time and peak of the pods without a node; compare them over like windows only."""
    line, n = count_waiting(record), len(record.pods)
    timed = record.window_s > 0
    # Each of the waits may be off by the resolution.
    resolution = n * record.resolution_s / record.window_s if timed else 0.0
    mean = line.mean(record.window_s) if timed else None
    yield make_metric("waiting_mean_pods", mean, "pods", "lower", n, resolution, missing="no time passed")
    yield Metric("waiting_peak_pods", line.peak, "pods", "lower", n, 1.0)


def measure_placed(record: RunRecord) -> Iterator[Metric]:
    """Yield placed pods, the gap to the optimiser's bound, moves and evictions."""
    state = find_state_at_end(record)
    bound, placed, n = record.bound_placed, len(state.bound), len(state.pods)
    yield Metric("placed_pods", placed, "pods", "higher", n, 1.0)
    yield Metric("unplaced_pods", len(state.pending), "pods", "lower", n, 1.0)
    gap, note = None, "no plan proves a bound for the state at the end"
    if bound is not None:
        gap, note = bound - placed, "more than proved possible: the bound is wrong" if placed > bound else ""
    yield Metric("gap_to_bound_pods", gap, "pods", "lower", n, 1.0, note)
    yield Metric("moves_pods", record.moves, "pods", "lower", n, 1.0)
    yield Metric("evictions_pods", record.evictions, "pods", "lower", n, 1.0)


def measure_footprint(record: RunRecord) -> Iterator[Metric]:
    """Yield the peak memory and the CPU time of the scheduler."""
    for name, value, unit, resolution in (
        ("scheduler_memory_peak_bytes", record.peak_memory_bytes, "bytes", PAGE_BYTES),
        ("scheduler_cpu_s", record.cpu_s, "s", CPU_TICK_S),
    ):
        yield make_metric(name, value, unit, "lower", int(value is not None), resolution, missing="not measured")


def measure_clocks(record: RunRecord) -> Iterator[Metric]:
    """Yield what the watch says beside the API server, and how far their clocks are apart."""
    lag_s, late_s = record.audit_lag_s, record.answers_late_s
    bound = sum(1 for pod in record.pods if pod.bound_s is not None)
    unchecked = "no binding was found in the audit log" if lag_s is None else note_unlogged(record)
    yield Metric("watch_lag_median_s", lag_s, "s", "neither", bound, 1e-6, unchecked)
    beyond = None if lag_s is None else record.audit_beyond
    yield Metric("clocks_apart_events", beyond, "events", "neither", bound, 1.0, unchecked)
    watched_s = [
        pod.watch_t_sched_s
        for pod in record.pods
        if pod.watch_t_sched_s is not None and pod.created_s is not None and pod.bound_s is not None
    ]
    mean_s, resolution_s = fmean(watched_s) if watched_s else None, record.watch_resolution_s or record.resolution_s
    yield make_metric("t_sched_watch_mean_s", mean_s, "s", "lower", len(watched_s), resolution_s, missing="no samples")
    missing = f"the clock is the {record.clock}"
    yield make_metric("answers_late_p90_s", late_s, "s", "neither", bound, 1e-6, missing=missing)


_MEASURES: tuple[Callable[[RunRecord], Iterable[Metric]], ...] = (
    measure_latency,
    measure_throughput,
    measure_waiting,
    measure_distribution,
    measure_utilisation,
    measure_fragmentation,
    measure_placed,
    measure_victims,
    measure_inversions,
    measure_footprint,
    measure_clocks,
)
