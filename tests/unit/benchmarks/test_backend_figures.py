"""Figures of the backends are medians over clusters, each kind by itself."""

from __future__ import annotations

from benchmarks.backends import Cost, backend_figures
from stowage_testbed.cluster.backend import Backend


def a_cost(backend: Backend, up_s: float) -> Cost:
    return Cost(backend, up_s, 0.2, 3.0, 1.0, 100_000_000, 250_000_000)


def test_each_backend_has_its_own_medians_with_their_spread() -> None:
    """One slow start among three must not become the figure."""
    costs = [a_cost(Backend.KIND, up_s) for up_s in (11.0, 40.0, 12.0)]
    costs += [a_cost(Backend.KWOK_BINARY, 3.5)]

    found = {one.name: one for one in backend_figures(costs)}

    kind = found["kind: control plane ready"]
    assert (kind.value, kind.runs, kind.spread) == (12.0, 3, (11.0, 40.0))
    assert found["kwok-binary: control plane ready"].value == 3.5
    assert found["kind: memory, with the release"].value == 250.0
