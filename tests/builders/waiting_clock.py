"""A clock for what waits: time passes only when somebody waits."""


class WaitingClock:
    """Stands still but for pauses, which take no time."""

    def __init__(self) -> None:
        self.at_s = 0.0

    def now(self) -> float:
        """Return the seconds that were waited."""
        return self.at_s

    def pause(self, seconds: float) -> None:
        """Let so much time have passed."""
        self.at_s += seconds
