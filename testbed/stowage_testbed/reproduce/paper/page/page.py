"""Puts the page together: tables, pictures, and what differs."""

from __future__ import annotations

import base64
import io

import matplotlib as mpl
from matplotlib.figure import Figure

from stowage_testbed.page.offline import offline_page
from stowage_testbed.reproduce.paper.categories import Baseline, Evaluation
from stowage_testbed.reproduce.paper.instances import SEEDS_TRIED
from stowage_testbed.reproduce.paper.live import LiveRow
from stowage_testbed.reproduce.paper.page.differences import differences
from stowage_testbed.reproduce.paper.plots import SETTINGS, figure_3, figure_4
from stowage_testbed.reproduce.paper.tables import headline_sentences, headline_table, live_table, shown_limit, table_1
from stowage_testbed.reproduce.sweep.folder import Header

PACKAGE = "stowage_testbed.reproduce.paper.page"


def page(evaluation: Evaluation, live: tuple[LiveRow, ...], header: Header) -> str:
    """Return the evaluation as HTML that loads nothing from anywhere."""
    with mpl.rc_context(SETTINGS):
        return offline_page(
            PACKAGE,
            images=True,
            evaluation=evaluation,
            header=header,
            limits=", ".join(f"{limit:g} s" for limit in evaluation.limits_s),
            sentences=headline_sentences(evaluation),
            headlines=[headline_table(evaluation, one) for one in Baseline],
            figures_3=_figures_3(evaluation),
            figures_4=_figures_4(evaluation),
            table_1=table_1(evaluation),
            live=live_table(live),
            differences=differences(evaluation),
            seeds_tried=SEEDS_TRIED,
        )


def _figures_3(evaluation: Evaluation) -> list[tuple[str, str]]:
    return [
        _picture(
            f"Strategy {strategy}, against the {baseline} scheduler; one bar a limit, usages together.",
            figure_3(evaluation, strategy, baseline),
        )
        for baseline in Baseline
        for strategy in evaluation.strategies
    ]


def _figures_4(evaluation: Evaluation) -> list[tuple[str, str]]:
    return [
        _picture(
            f"Strategy {strategy} at {shown_limit(evaluation):g} s, against the stock "
            "scheduler; 4 pods a node, 4 priorities.",
            figure_4(evaluation, strategy, Baseline.STOCK),
        )
        for strategy in evaluation.strategies
    ]


def _picture(caption: str, figure: Figure) -> tuple[str, str]:
    """Return the caption, and the figure as SVG in base64."""
    content = io.BytesIO()
    figure.savefig(content, format="svg", metadata={"Date": None})
    return caption, base64.b64encode(content.getvalue()).decode()
