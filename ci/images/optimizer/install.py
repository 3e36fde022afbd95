"""Puts the optimiser and its packages into one folder, the same in every build.

Runs while the image is built, with the image's own Python and without a network.
"""

import compileall
import os
import py_compile
import shutil
import subprocess
import sys
from pathlib import Path

UNUSED = ("tests", "include")
"""Folders inside packages that nothing reads when the optimiser runs."""

EPOCH = int(os.environ.get("SOURCE_DATE_EPOCH", "1600000000"))


def main(build: Path, target: Path) -> None:
    """Install, slim down, compile."""
    pip = [sys.executable, str(build / "pip.zip" / "pip"), "install", "--quiet"]
    options = ["--no-index", "--find-links", str(build / "wheels"), "--no-compile"]
    locked = ["--require-hashes", "--requirement", str(build / "requirements.lock")]
    subprocess.run([*pip, *options, "--target", str(target), *locked], check=True)
    shutil.rmtree(target / "bin", ignore_errors=True)
    shutil.copytree(build / "stowage_optimizer", target / "stowage_optimizer")
    (target / "bin").mkdir()
    command = target / "bin" / "stowage-optimizer"
    command.write_text(f"#!{sys.executable}\nfrom stowage_optimizer.cli import main\n\nmain()\n", "utf-8")
    command.chmod(0o755)
    for name in UNUSED:
        for folder in [*target.glob(f"*/**/{name}")]:
            shutil.rmtree(folder, ignore_errors=True)
    same_times(target)  # Numba notes those of the sources that it compiles
    compileall.compile_dir(target, quiet=1, workers=1, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
    compiled = target / "compiled"
    compiled.mkdir()
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(compiled)}
    subprocess.run([sys.executable, str(command), "compile"], env=environment, check=True)
    same_times(target)


def same_times(folder: Path) -> None:
    """Give every file and folder the time of the build's commit."""
    for path in [folder, *folder.rglob("*")]:
        os.utime(path, (EPOCH, EPOCH), follow_symlinks=False)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
