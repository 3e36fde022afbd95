"""Percentiles with all that is needed to trust them."""

from __future__ import annotations

import pytest

from stowage_testbed.run.latency import make_latency


def test_the_resolution_is_no_better_than_the_watch() -> None:
    """A watch that lags now 2, now 12 ms cannot tell latencies 5 ms apart."""
    latency = make_latency([0.02], [0.002, 0.012])

    assert latency.resolution_s == pytest.approx(0.01)
    assert latency.audit_lag_s == pytest.approx(0.007)


def test_one_outlier_of_many_does_not_set_the_resolution() -> None:
    """One pause of the machine would else hide what the other 99 pods say."""
    latency = make_latency([0.02], [0.002] * 99 + [0.5])

    assert latency.resolution_s == 0.001


def test_without_bindings_the_receipt_sets_the_resolution() -> None:
    """A cluster without an audit log has only the watch."""
    latency = make_latency([], [])

    assert (latency.n, latency.audit_lag_s, latency.resolution_s) == (0, None, 0.001)
    assert all(item.value is None for item in latency.percentiles)
