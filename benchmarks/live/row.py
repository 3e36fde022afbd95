"""What one window gave, as it is kept on disk."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Window(StrEnum):
    """What goes on in a window.

    ``DEFAULT``: pods come and go under the profile `default`. ``IDLE``: the same under
    the profile `optimizer`. ``PLAN``: the same while large pods arrive and a plan is
    made and carried out.
    """

    DEFAULT = "default"
    IDLE = "idle"
    PLAN = "plan"


@dataclass(frozen=True, slots=True)
class PlanRow:
    """What came of the large pods of one round.

    Attributes
    ----------
    stored_s, stored_after_last_s
        From the first refused pod, and from the last arrival, to the first plan that
        was stored after it; None without one.
    ready_s
        From the last arrival until all pods were ready; None if they never were.
    unready
        Pods that are not ready at the end.
    moved, placed
        Of the plans that were carried out whole.
    plans
        How many were made.
    given_up
        Phase and message of each that was given up.
    left
        Plans that are open at the end, and reservations.
    """

    stored_s: float | None
    stored_after_last_s: float | None
    ready_s: float | None
    unready: int
    moved: int
    placed: int
    plans: int
    given_up: tuple[str, ...]
    left: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """One window of one round.

    Attributes
    ----------
    length_s
        How long it was.
    tiny
        Of each pod that no plan concerns, the seconds from the first one's creation to
        its own, and from there to its node; None for one that never got a node.
    writes, requests, longest_hold_s, held_s
        Of the scheduler; see `benchmarks.live.meter.Usage`.
    cpu_s, peak_bytes
        By container.
    plan
        Of windows in which one was made.
    """

    number: int
    window: Window
    length_s: float
    tiny: tuple[tuple[float, float | None], ...]
    writes: dict[str, int]
    requests: dict[str, int]
    longest_hold_s: float | None
    held_s: float
    cpu_s: dict[str, float | None]
    peak_bytes: dict[str, int | None]
    plan: PlanRow | None = None
