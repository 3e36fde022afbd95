"""The evaluation as tables, figures with targets, and one page with the paper's figures that works offline."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from statistics import fmean, stdev

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure as Drawing

from stowage_testbed.base.files import write_whole
from stowage_testbed.page.offline import offline_page
from stowage_testbed.reproduce.drawing import SETTINGS, picture
from stowage_testbed.reproduce.fgd.evaluation import (
    LOADS,
    OURS,
    PAPER_POLICIES,
    Curve,
    FgdEvaluation,
    at_load,
    profile_policy,
    read,
)
from stowage_testbed.reproduce.fgd.moves import LIMIT_S, MoveRow
from stowage_testbed.reproduce.rebuilding import write_tables
from stowage_testbed.reproduce.sweep import read_header
from stowage_testbed.text.figure import Figure, Target, at_least, at_most, figure
from stowage_testbed.text.tables import Table

PAGE = "index.html"

BAR_LOAD = 100
"""Of the paper's bars."""

REBUILT = ("FGD", "BestFit", "DotProd")
"""Policies whose published means are to be met."""

NEAR = 0.15
"""Points of allocation."""

NEAR_BOUND = 0.25
"""Points between what a plan allocates and what no plan can exceed."""

MOST_MOVED = {"gpuspec": 10.0}
"""Percent of the placed pods, by how a list's name begins; else `MOVED`."""
MOVED = 3.0

REACHED = {("default", "FGD"): at_least(96.1, "%"), ("default", "BestFit"): at_least(95.21, "%")}
"""At the lower load, by list and policy: the latter's is more than what was published of FGD without moves, 95.2 %."""

BASELINE = "FGD"
NONE = "-"
ABOVE = Target("> 0 points", lambda value: value > 0)

GROUPS = {
    "gpushare": "Figure 11: GPUs that pods share, in percent of the GPUs asked for",
    "multigpu": "Figure 12: GPUs of pods that want several, in percent of the GPUs asked for",
    "gpuspec": "Figure 13: pods bound to models, in percent of the GPUs asked for",
    "cpu": "Figure 14: pods without a GPU, in thousandths of those with one",
}
WHOLE_TRACE = "default"

COLOURS = dict(
    zip(
        (*PAPER_POLICIES, *OURS),
        ("#b5b5b5", "#8c6d31", "#9467bd", "#d6a419", "#3274a1", "#e1812c", "#3a923a", "#7fbf7b", "#c03d3e"),
        strict=True,
    )
)


def mean_at(curves: Sequence[Curve], load: int) -> float | None:
    """Return the mean allocation at a load; None without any that reached it."""
    found = [value for one in curves if (value := at_load(one, load)) is not None]
    return fmean(found) if found else None


def differences(evaluation: FgdEvaluation, pods: str, policy: str, load: int) -> list[float]:
    """Return by order of arrival how much more a policy allocates than FGD."""
    baseline = {one.seed: at_load(one, load) for one in evaluation.of(pods, BASELINE)}
    pairs = ((at_load(one, load), baseline.get(one.seed)) for one in evaluation.of(pods, policy))
    return [mine - theirs for mine, theirs in pairs if mine is not None and theirs is not None]


def allocation_table(evaluation: FgdEvaluation) -> Table:
    """Return the mean allocation of each policy on each list, the published beside it."""
    rows = []
    for pods, policy in product(evaluation.request.pods, evaluation.request.all_policies):
        ours, theirs = evaluation.of(pods, policy), evaluation.published_of(pods, policy)
        if not ours:
            continue
        cells = [pods, policy, str(len(ours))]
        for load in LOADS:
            mine, published = mean_at(ours, load), mean_at(theirs, load)
            difference = NONE if mine is None or published is None else f"{mine - published:+.2f}"
            cells += [_shown(mine), _shown(published), difference]
        rows.append(tuple(cells))
    headers = [cell for load in LOADS for cell in (f"at {load} %", "published", "difference")]
    return Table(
        title="Allocated GPUs, in percent, by what has been asked for",
        headers=("pods", "policy", "orders", *headers),
        rows=tuple(rows),
        notes=(
            "Means over orders of arrival, which are those of the published seeds. At 98 %: when the pods so far ask "
            "for 98 % of all GPUs.",
            "How ties between nodes fall, and what the random policy draws, is not published: single orders differ "
            "more than means.",
        ),
    )


def score_table(evaluation: FgdEvaluation) -> Table:
    """Return how much more our scores allocate than FGD, which was rebuilt on the same orders."""
    rows = []
    for pods, policy in product(evaluation.request.pods, OURS):
        found = [differences(evaluation, pods, policy, load) for load in LOADS]
        if all(found):
            cells = (f"{value:+.2f}" for one in found for value in (fmean(one), min(one)))
            rows.append((pods, policy, str(len(found[0])), *cells))
    headers = [cell for load in LOADS for cell in (f"at {load} %", "worst order")]
    return Table(
        title="Our scores without moves: points of allocation above FGD",
        headers=("pods", "policy", "orders", *headers),
        rows=tuple(rows),
        notes=(
            "FGD's gradient over all classes of pods, three times what the room that a pod takes is worth at the "
            "prices of a linear program over contents of GPUs, and a term for a tight fit, rounded to 0.04 GPUs.",
            "First fit: the pod gets the first GPU that has room, as Kubernetes allocates devices. Plugin: the same at "
            "the prices of the scheduler's plugin Devices, which has no linear program. The weights were chosen on the "
            "first order of all lists.",
        ),
    )


def move_table(evaluation: FgdEvaluation) -> Table:
    """Return what moves add to each policy, the bound beside it."""
    rows = []
    for (pods, policy, load, percent), found in grouped(evaluation.moves):
        before, after = fmean(one.before for one in found), fmean(one.after for one in found)
        bound = fmean(one.bound for one in found)
        moved = fmean(100 * one.moves / max(1, one.placed) for one in found)
        cells = (f"{before:.2f}", f"{after:.2f}", f"{bound:.2f}", f"{bound - after:.2f}", f"{moved:.1f}")
        rows.append((pods, policy, f"{load}", f"{percent:g}", str(len(found)), *cells))
    return Table(
        title="With moves: allocated GPUs, in percent",
        headers=("pods", "after", "at %", "may move, %", "orders", "before", "with moves", "bound", "gap", "moved, %"),
        rows=tuple(rows),
        notes=(
            f"Means over orders of arrival; plans of {LIMIT_S:g} s, which keep all running pods.",
            "Bound: proved for plans that keep all running pods, however many they move.",
        ),
    )


def grouped(moves: Iterable[MoveRow]) -> list[tuple[tuple[str, str, int, float], list[MoveRow]]]:
    """Return the orders of each list, policy, load and budget, in the order in which they were asked for."""
    groups: dict[tuple[str, str, int, float], list[MoveRow]] = {}
    for one in moves:
        groups.setdefault((one.pods, one.policy, one.load, one.most_percent), []).append(one)
    return list(groups.items())


def move_figures(evaluation: FgdEvaluation) -> Iterator[Figure]:
    """Yield by list how far plans are from their bound, and what they reach."""
    for (pods, policy, load, percent), found in grouped(evaluation.moves):
        of_list = next((most for name, most in MOST_MOVED.items() if pods.startswith(name)), MOVED)
        judged = percent == of_list
        name = f"after {policy}, {percent:g} % moved, at {load} %: {pods}"
        gaps = [one.bound - one.after for one in found]
        near = at_most(NEAR_BOUND, "points") if judged and policy == BASELINE else None
        yield figure(f"fgd: gap to the bound {name}", "points", gaps, fmean, near)
        reached = REACHED.get((pods, policy)) if judged and load == min(LOADS) else None
        yield figure(f"fgd: allocated {name}", "%", [one.after for one in found], fmean, reached)


def fgd_figures(evaluation: FgdEvaluation) -> Iterator[Figure]:
    """Yield how near the published means are met, by how much we are above FGD, and how long a run takes."""
    request = evaluation.request
    for policy, load in product((one for one in PAPER_POLICIES if one in request.policies), LOADS):
        found: dict[str, float] = {}
        for pods in request.pods:
            mine = mean_at(evaluation.of(pods, policy), load)
            theirs = mean_at(evaluation.published_of(pods, policy), load)
            if mine is not None and theirs is not None:
                found[pods] = abs(mine - theirs)
        target = at_most(NEAR, "points") if policy in REBUILT else None
        name = f"fgd: {policy} at {load} %: farthest from a published mean"
        note = max(found, key=found.__getitem__, default="")
        yield figure(name, "points", list(found.values()), max, target, note=note)
    for policy, load, pods in product((one for one in OURS if one in request.policies), LOADS, request.pods):
        target = ABOVE if load == max(LOADS) else None
        name = f"fgd: {policy} above FGD at {load} %: {pods}"
        yield figure(name, "points", differences(evaluation, pods, policy, load), fmean, target)
    yield from move_figures(evaluation)
    for policy, load, pods in product(map(profile_policy, request.profiles), LOADS, request.pods):
        yield figure(
            f"fgd: {policy} above FGD at {load} %: {pods}", "points", differences(evaluation, pods, policy, load), fmean
        )
    in_python = [one.wall_s for one in evaluation.runs if one.policy in request.policies]
    yield figure("fgd: a run", "s", in_python, fmean)
    failures = evaluation.failures
    note = "; ".join(failures.values())[:200]
    yield Figure("fgd: tasks that could not be carried out", len(failures), "tasks", "<= 0", not failures, note=note)


def _shown(value: float | None) -> str:
    return NONE if value is None else f"{value:.2f}"


def curve_drawing(evaluation: FgdEvaluation, pods: str) -> Drawing:
    """Return Figure 9(a): GPUs left over by what was asked for, median and middle half; published means are dashed."""
    drawing = Drawing(figsize=(9.5, 4.2), layout="constrained")
    axes = drawing.subplots()
    for policy in evaluation.request.policies:
        if not (runs := evaluation.of(pods, policy)):
            continue
        loads, left = _unallocated(runs)
        low, middle, high = np.percentile(left, (25, 50, 75), axis=0)
        axes.plot(loads, middle, color=COLOURS[policy], label=policy)
        axes.fill_between(loads, low, high, color=COLOURS[policy], alpha=0.2, linewidth=0)
        if published := evaluation.published_of(pods, policy):
            loads, left = _unallocated(published)
            axes.plot(loads, np.median(left, axis=0), color=COLOURS[policy], linestyle="--", linewidth=0.8)
    axes.plot((0, 100), (100, 0), color="grey", linestyle=":", label="ideal")
    axes.set_xlim(75, 130)
    axes.set_ylim(0, 25)
    axes.set_xlabel("asked for (% of all GPUs); dashed: published")
    axes.set_ylabel("GPUs left over (%)")
    drawing.legend(loc="outside right upper", frameon=False)
    return drawing


def _unallocated(curves: Sequence[Curve]) -> tuple[list[int], np.ndarray]:
    """Return the loads that all curves have, and what each leaves over there."""
    loads = sorted(set.intersection(*(set(one.load) for one in curves)))
    known = [dict(zip(one.load, one.allocation, strict=True)) for one in curves]
    return loads, np.array([[100 - one[load] for load in loads] for one in known])


def bar_drawing(evaluation: FgdEvaluation, lists: Sequence[str]) -> Drawing:
    """Return a figure as 11 to 14: what is left over at 100 %, with its deviation; dots are the published means."""
    drawing = Drawing(figsize=(9.5, 3.2), layout="constrained")
    axes = drawing.subplots()
    policies = evaluation.request.policies
    width = 0.84 / len(policies)
    for number, policy in enumerate(policies):
        places, heights, spreads, dots = [], [], [], dict[float, float]()
        for group, pods in enumerate(lists):
            left = [100 - value for one in evaluation.of(pods, policy) if (value := at_load(one, BAR_LOAD)) is not None]
            if not left:
                continue
            places.append(group + (number - (len(policies) - 1) / 2) * width)
            heights.append(fmean(left))
            spreads.append(stdev(left) if len(left) > 1 else 0.0)
            published = mean_at(evaluation.published_of(pods, policy), BAR_LOAD)
            if published is not None:
                dots[places[-1]] = 100 - published
        if not places:
            continue
        axes.bar(places, heights, width, yerr=spreads, color=COLOURS[policy], edgecolor="white", label=policy)
        axes.scatter(list(dots), list(dots.values()), s=12, color="black", zorder=3)
    axes.set_xticks(range(len(lists)), lists)
    axes.set_ylabel("GPUs left over (%)")
    drawing.legend(loc="outside right upper", frameon=False)
    return drawing


def drawings(evaluation: FgdEvaluation) -> Iterator[tuple[str, Callable[[], Drawing]]]:
    """Yield the captions of the figures whose lists were run, and how each is drawn."""
    there = [pods for pods in evaluation.request.pods if any(one.pods == pods for one in evaluation.runs)]
    if WHOLE_TRACE in there:
        caption = "Figure 9(a): GPUs left over, the whole trace; median and middle half of the orders"
        yield caption, partial(curve_drawing, evaluation, WHOLE_TRACE)
    for group, caption in GROUPS.items():
        lists = [pods for pods in there if pods.startswith(group)]
        if lists:
            yield f"{caption}; at {BAR_LOAD} %", partial(bar_drawing, evaluation, lists)


def report(
    path: Path, figures_file: Path, failures: Mapping[str, str] | None = None, minutes: float | None = None
) -> str:
    """Write page, tables and figures of a folder, and return what a terminal shows."""
    header, evaluation = read_header(path), read(path, failures)
    tables = [allocation_table(evaluation), score_table(evaluation)]
    if evaluation.moves:
        tables.append(move_table(evaluation))
    with mpl.rc_context(SETTINGS):
        pictures = [picture(caption, draw()) for caption, draw in drawings(evaluation)]
        page = offline_page(
            "fgd", images=True, evaluation=evaluation, header=header, tables=tables, pictures=pictures, loads=LOADS
        )
    write_whole(path / PAGE, page)
    facts = {"scope": header.scope, "minutes": minutes}
    return f"{write_tables(path, figures_file, tables, list(fgd_figures(evaluation)), facts)}; page: {path / PAGE}"
