"""On a slow machine every deadline is so many times as long."""

import pytest
from waiting_clock import WaitingClock

from stowage_testbed.base.errors import InputError
from stowage_testbed.base.wait import PATIENCE, WaitTimeoutError, stretch, wait_until


@pytest.mark.parametrize(("said", "deadline_s"), [("", 10.0), ("4", 40.0)])
def test_a_wait_lasts_as_long_as_the_machine_needs(
    said: str, deadline_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One setting for all deadlines, and none to be found in a hundred places."""
    monkeypatch.setenv(PATIENCE, said)
    clock = WaitingClock()

    with pytest.raises(WaitTimeoutError, match=f"waited {deadline_s:g} s for a pod"):
        wait_until("a pod", lambda: [], bool, timeout_s=10, clock=clock)

    assert clock.at_s == pytest.approx(deadline_s, abs=0.1)


@pytest.mark.parametrize("said", ["0.5", "much", "-1", "inf", "nan"])
def test_a_setting_that_is_no_factor_is_refused(said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorter deadlines would make failures of what is only slow."""
    monkeypatch.setenv(PATIENCE, said)

    with pytest.raises(InputError, match=f"{PATIENCE}={said}: give a number"):
        stretch(1.0)
