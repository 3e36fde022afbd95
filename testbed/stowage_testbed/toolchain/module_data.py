"""Files of a Go module that a tool needs at run time, kept beside its binary.

They are taken from the very module that the tool is built from, so that both are of one
version, and no copies have to be kept in step.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from stowage_testbed.toolchain.errors import BuildFailedError, ModuleDataMissingError
from stowage_testbed.toolchain.golang import Go, go_environment
from stowage_testbed.toolchain.manifest import Tool


def copy_module_data(tool: Tool, go: Go, target: Path) -> None:
    """Copy what the manifest names of the tool's module into the folder ``target``.

    Raises
    ------
    BuildFailedError
        Go does not find the module.
    ModuleDataMissingError
        The module does not hold it.
    """
    if tool.data is None:
        return
    source = _module_folder(tool, go, tool.data.module)
    for path in tool.data.paths:
        files = _files(source / path)
        if not files:
            raise ModuleDataMissingError(tool.name, tool.data.module, path)
        for file in files:
            copy = target / file.relative_to(source)
            copy.parent.mkdir(parents=True, exist_ok=True)
            # Without its permissions: Go's cache is read-only, the copy must not be.
            shutil.copyfile(file, copy)


def _module_folder(tool: Tool, go: Go, module: str) -> Path:
    command = [str(go.file), "list", "-m", "-f", "{{.Dir}}", module]
    done = subprocess.run(
        command,
        cwd=tool.folder,
        env=go_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise BuildFailedError(tool.name, command, done.stderr.splitlines())
    return Path(done.stdout.strip())


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    return sorted(file for file in path.rglob("*") if file.is_file())
