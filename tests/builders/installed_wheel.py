"""Stowage as its users have it: a wheel in an environment without the checkout."""

import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Installed:
    """An environment with the wheel, and the variables that a user would have."""

    folder: Path
    variables: dict[str, str]

    def run(self, program: str, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
        """Run a program of the environment and return what it said."""
        return subprocess.run(
            [str(self.folder / "bin" / program), *arguments],
            cwd=cwd,
            env=self.variables,
            capture_output=True,
            text=True,
            check=False,
        )
