"""A `stowage run`, or what else takes a cluster, in a process of its own."""

import signal
import subprocess
import sys
from pathlib import Path

from stowage_testbed.base import layout
from stowage_testbed.base.wait import HANG_S, wait_until
from stowage_testbed.cluster.components import processes_of

STOWAGE = (sys.executable, "-X", "faulthandler", "-c")
MAIN = "from stowage_testbed.cli import main; main()"
CHECKOUT = Path(__file__).parents[2]
PYTEST = (sys.executable, "-m", "pytest", "-s", "-p", "no:cacheprovider")
PROGRAMS = {
    "run": (*STOWAGE, MAIN, "run", "--results"),
    "compare": (*STOWAGE, MAIN, "compare", "--results"),
    "pytest": (*PYTEST, "--stowage-results"),
}


def nothing_is_left(name: str) -> bool:
    """Return whether a cluster has neither a folder nor a process."""
    workdir = layout.clusters_folder() / name
    return not workdir.exists() and not processes_of(workdir)


class StowageRun:
    """Starts it, and follows it by what it prints.

    Parameters
    ----------
    folder
        Takes its log and its results.
    program, arguments
        Which of the programs, and its arguments besides that for the results.
    before
        A command that starts it.
    """

    def __init__(self, folder: Path, program: str, *arguments: str, before: tuple[str, ...] = ()) -> None:
        self.folder = folder
        self._log = folder / "progress.log"
        results = str(folder / "results")
        with self._log.open("w") as log:
            self.process = subprocess.Popen(
                [*before, *PROGRAMS[program], results, *arguments],
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

    def left(self) -> list[object]:
        """Return folders and processes that are left of its clusters."""
        there = [one for one in self.workdirs if one.exists()]
        return [*there, *(one for path in self.workdirs for one in processes_of(path))]

    def wait_for_line(self, text: str, times: int = 1) -> None:
        """Return when it has printed a text so often."""
        wait_until(
            f"the run to print {text!r}",
            lambda: self.said,
            lambda said: said.count(text) >= times or self.process.poll() is not None,
        )
        assert self.said.count(text) >= times, self.said

    def end(self) -> None:
        """End it, unless it has ended."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(HANG_S)
