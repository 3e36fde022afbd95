"""The headline: how often a plan is better, and how often nothing can be."""

from __future__ import annotations

from collections.abc import Iterator

from stowage_testbed.reproduce.paper.categorised import Evaluation, shares
from stowage_testbed.reproduce.paper.category import Baseline, Category
from stowage_testbed.reproduce.paper.published import HEADLINES
from stowage_testbed.text.table import Table

MEANINGS = {
    Baseline.STOCK: "against the stock scheduler with preemption, as published",
    Baseline.DETERMINISTIC: "against the deterministic scheduler without preemption",
}

HEADERS = (
    "strategy", "limit", "instances", "better", "of them optimal", "KWOK optimal",
    "no calls", "failures", "better where called", "KWOK optimal where called",
)  # fmt: skip


def headline_table(evaluation: Evaluation, baseline: Baseline) -> Table:
    """Return the shares of every strategy and limit, the published ones first."""
    return Table(
        title=f"Shares of all instances, {MEANINGS[baseline]}",
        headers=HEADERS,
        rows=(*_published(evaluation, baseline), *_ours(evaluation, baseline)),
        notes=(
            "Better: more pods of a higher priority have a node. Where called: of the "
            "instances on which the baseline leaves a pod pending.",
        ),
    )


def headline_sentences(evaluation: Evaluation) -> tuple[str, ...]:
    """Return the abstract's sentence, with our numbers in place of theirs."""
    return tuple(_sentences(evaluation))


def _sentences(evaluation: Evaluation) -> Iterator[str]:
    for strategy in evaluation.strategies:
        for limit_s in evaluation.limits_s:
            found = evaluation.of(strategy, limit_s)
            known = shares(found, Baseline.STOCK)
            if known is None:
                continue
            better = known[Category.BETTER] + known[Category.BETTER_OPTIMAL]
            published = HEADLINES.get(limit_s)
            theirs = (
                f" (published: over {published.better:g} % and "
                f"{published.default_optimal:g} %)"
                if published
                else ""
            )
            yield (
                f"Within {limit_s:g} s the strategy {strategy} places more "
                f"higher-priority pods than the default scheduler in "
                f"{100 * better:.0f} % of {len(found)} instances, and proves the "
                f"default scheduler's placement optimal in "
                f"{100 * known[Category.DEFAULT_OPTIMAL]:.0f} %{theirs}."
            )


def _published(evaluation: Evaluation, baseline: Baseline) -> Iterator[tuple[str, ...]]:
    if baseline is not Baseline.STOCK:
        return
    for limit_s, headline in HEADLINES.items():
        if limit_s in evaluation.limits_s:
            yield (
                "published", f"{limit_s:g} s", "9600", f"> {headline.better:g} %", "-",
                f"> {headline.default_optimal:g} %", "-", "-", "-", "-",
            )  # fmt: skip


def _ours(evaluation: Evaluation, baseline: Baseline) -> Iterator[tuple[str, ...]]:
    for limit_s in evaluation.limits_s:
        for strategy in evaluation.strategies:
            found = evaluation.of(strategy, limit_s)
            known = shares(found, baseline)
            if known is None:
                continue
            called = 1 - known[Category.NO_CALLS]
            better = known[Category.BETTER] + known[Category.BETTER_OPTIMAL]
            yield (
                strategy,
                f"{limit_s:g} s",
                str(len(found)),
                _percent(better),
                _percent(known[Category.BETTER_OPTIMAL]),
                _percent(known[Category.DEFAULT_OPTIMAL]),
                _percent(known[Category.NO_CALLS]),
                _percent(known[Category.FAILURES]),
                _percent(better / called if called else None),
                _percent(known[Category.DEFAULT_OPTIMAL] / called if called else None),
            )


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f} %"
