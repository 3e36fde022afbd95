"""No test fails because the machine is busy: deadlines are for what hangs."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from stowage_testbed.base.wait import HANG_S

TESTS = Path(__file__).parents[2]
LEAST_S = 60.0
"""Below it a deadline is one for speed; below a second it is meant to pass."""

WAITS = {"join", "timeout", "wait"}
"""What takes its deadline without a name."""

DEADLINES = {"timeout", "timeout_s"}
TIMED = re.compile(r"assert .*\b(monotonic|perf_counter)\(\).* <")


def is_short(node: ast.AST) -> bool:
    if not isinstance(node, ast.Constant) or not isinstance(node.value, int | float):
        return False
    return 1 <= node.value < LEAST_S


def short_deadlines(node: ast.AST) -> Iterator[int]:
    """Yield the lines with a short deadline that is not expected to pass."""
    if isinstance(node, ast.With | ast.AsyncWith) and any(
        "raises" in ast.unparse(item.context_expr) for item in node.items
    ):
        return
    if isinstance(node, ast.Call):
        given = [one.value for one in node.keywords if one.arg in DEADLINES]
        name = ast.unparse(node.func).rpartition(".")[2]
        if name in WAITS and not ast.unparse(node).startswith("threading.Event().wait"):
            given += node.args[:1]
        if any(map(is_short, given)):
            yield node.lineno
    for child in ast.iter_child_nodes(node):
        yield from short_deadlines(child)


def test_no_test_waits_for_less_than_a_busy_machine_needs() -> None:
    """With four busy loops on two cores all takes three times as long, and more."""
    found = [
        f"{path.relative_to(TESTS)}:{line}"
        for path in sorted(TESTS.rglob("*.py"))
        for line in short_deadlines(ast.parse(path.read_text(encoding="utf-8")))
    ]

    assert found == [], "wait for stowage_testbed.base.wait.HANG_S"
    assert HANG_S >= LEAST_S


def test_no_test_asserts_how_long_something_took() -> None:
    """Speed is measured by benchmarks, on a machine of their own."""
    found = [
        f"{path.relative_to(TESTS)}:{number}"
        for path in sorted(TESTS.rglob("*.py"))
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if TIMED.search(line) and path != Path(__file__)
    ]

    assert found == []


def test_short_deadlines_are_found() -> None:
    """A rule that cannot fail holds nothing."""
    text = (
        "wait_until(a, b, c, timeout_s=5)\n"
        "process.wait(20)\n"
        "process.wait(HANG_S)\n"
        "with pytest.raises(WaitTimeoutError):\n"
        "    wait_until(a, b, c, timeout_s=3)\n"
        "wait_until(a, b, c, timeout_s=0.1)\n"
    )

    assert list(short_deadlines(ast.parse(text))) == [1, 2]
