"""Which scheduler a test asks for, by a name of the catalogue or by an arm file."""

from __future__ import annotations

from pathlib import Path

from stowage_testbed.compare.arms.registry import choose_arms
from stowage_testbed.pytest.arms import SchedulerArm
from stowage_testbed.pytest.environment import SessionEnvironment
from stowage_testbed.pytest.errors import NoFileError
from stowage_testbed.pytest.manifests import SUFFIXES
from stowage_testbed.pytest.plain import plain


class ArmChooser:
    """Puts schedulers on the session's cluster, one at a time.

    Parameters
    ----------
    environment
        The session's cluster.
    folder
        Where relative paths begin.
    """

    def __init__(self, environment: SessionEnvironment, folder: Path) -> None:
        self._environment = environment
        self._folder = folder

    @plain
    def __call__(self, arm: str | Path) -> SchedulerArm:
        """Put a scheduler on the cluster in the place of any other; it then serves.

        Parameters
        ----------
        arm
            ``default``, ``stowage`` or another name that `stowage compare --help`
            lists; or an arm file of your own, from the test's folder.

        Raises
        ------
        InputError
            There is no such arm.
        ToolMissingError
            Its program has not been built; names the command that does.
        StowageError
            It did not come up; carries the end of its log.
        InputError
            A release that is not the session's serves on the cluster.
        """
        if Path(arm).suffix not in SUFFIXES:
            (chosen,) = choose_arms([str(arm)])
            return self._environment.use(chosen)
        file = self._folder / arm
        if not file.is_file():
            raise NoFileError(file)
        (chosen,) = choose_arms((), [file])
        return self._environment.use(chosen)
