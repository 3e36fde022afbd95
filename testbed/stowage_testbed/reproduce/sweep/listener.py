"""Listeners to the progress of a sweep."""

from __future__ import annotations


class SweepListener:
    """Receives the progress and ignores it; override what is of interest."""

    def begun(self, what: str, total: int, done: int, workers: int) -> None:
        """Take note that ``total`` tasks are to do, of which ``done`` are done."""

    def over(self, task_id: str, failure: str) -> None:
        """Take note that a task is over."""

    def ended(self) -> None:
        """Take note that nothing is left to do."""
