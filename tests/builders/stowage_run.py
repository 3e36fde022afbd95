"""A `stowage run` in a process of its own, followed by what it prints."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

from stowage_testbed.base import layout
from stowage_testbed.base.wait import HANG_S, wait_until

STOWAGE = (sys.executable, "-X", "faulthandler", "-c")
MAIN = "from stowage_testbed.cli import main; main()"
CHECKOUT = Path(__file__).parents[2]
LINE_TIMEOUT_S = HANG_S
END_TIMEOUT_S = HANG_S


class StowageRun:
    """Starts it.

    Parameters
    ----------
    folder
        Takes its log and its results.
    arguments
        Of `stowage run`, besides those for the results.
    before
        A command that starts it.
    """

    def __init__(
        self, folder: Path, *arguments: str, before: tuple[str, ...] = ()
    ) -> None:
        self.folder = folder
        self._log = folder / "progress.log"
        results = ("--results", str(folder / "results"))
        with self._log.open("w") as log:
            self.process = subprocess.Popen(
                [*before, *STOWAGE, MAIN, "run", *arguments, *results],
                cwd=CHECKOUT,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    @property
    def said(self) -> str:
        """What it has printed."""
        return self._log.read_text()

    @property
    def workdir(self) -> Path:
        """The folder of its first cluster."""
        return self.workdirs[0]

    @property
    def workdirs(self) -> list[Path]:
        """The folders of its clusters, in the order in which they came up."""
        names = [
            line.split()[1].rstrip(":")
            for line in self.said.splitlines()
            if line.startswith("cluster ") and line.endswith(": up")
        ]
        return [layout.clusters_folder() / name for name in names]

    def wait_for_line(self, text: str) -> None:
        """Return when it has printed a text."""
        wait_until(
            f"the run to print {text!r}",
            lambda: self.said,
            lambda said: text in said or self.process.poll() is not None,
            timeout_s=LINE_TIMEOUT_S,
        )
        assert text in self.said

    def end(self) -> None:
        """End it, unless it has ended."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(END_TIMEOUT_S)
