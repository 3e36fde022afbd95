"""Processes under the launcher: real ones, each ended for good."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from stowage_testbed.base.wait import HANG_S, wait_until
from stowage_testbed.hostpods.errors import HostPodsError
from stowage_testbed.hostpods.launch import Log
from stowage_testbed.hostpods.process import (
    Command,
    ContainerProcess,
    Exit,
    run_to_end,
    start_process,
)

PATH = {"PATH": os.environ["PATH"]}


def a_command(cwd: Path, *argv: str) -> Command:
    return Command(argv, PATH, cwd)


def a_script(cwd: Path, script: str) -> Command:
    return a_command(cwd, "sh", "-c", script)


def wait_gone(pids: list[int]) -> None:
    wait_until(
        f"processes {pids} to be gone",
        lambda: [pid for pid in pids if psutil.pid_exists(pid)],
        lambda alive: not alive,
        timeout_s=HANG_S,
    )


def lines_of(log: Path, count: int) -> list[str]:
    return wait_until(
        f"{count} lines in {log}",
        lambda: log.read_text().splitlines() if log.exists() else [],
        lambda lines: len(lines) >= count,
        timeout_s=HANG_S,
    )


def test_output_is_appended_to_the_log_and_the_code_comes_back(tmp_path: Path) -> None:
    """Logs of a crash must survive the restart after it."""
    log = tmp_path / "main.log"

    async def twice() -> list[Exit]:
        script = a_script(tmp_path, "echo out; echo err >&2; exit 3")
        return [await (await start_process(script, log)).wait() for _ in range(2)]

    ends = asyncio.run(twice())

    assert [end.code for end in ends] == [3, 3]
    assert log.read_text() == "out\nerr\n" * 2


def test_a_full_log_is_turned_over(tmp_path: Path) -> None:
    """A release that logs for days must not fill the disk."""
    file = tmp_path / "main.log"
    with contextlib.closing(Log(str(file), 10)) as log:
        for line in (b"first\n", b"second\n", b"third\n"):
            log.write(line)

    assert file.read_bytes() == b"third\n"
    assert (tmp_path / "main.log.1").read_bytes() == b"second\n"


def test_a_cancellation_at_the_very_end_of_a_command_is_heard(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A liveness probe that forgot it went on for ever: no container came back."""
    wait = ContainerProcess.wait

    async def cancelled_when_done() -> None:
        asking = asyncio.create_task(run_to_end(a_command(tmp_path, "true"), 10))

        async def wait_and_cancel(process: ContainerProcess) -> Exit:
            waiting = asyncio.current_task()
            assert waiting is not None
            waiting.add_done_callback(lambda _: asking.cancel())
            return await wait(process)

        monkeypatch.setattr(ContainerProcess, "wait", wait_and_cancel)
        with pytest.raises(asyncio.CancelledError):
            await asking

    asyncio.run(cancelled_when_done())


def test_the_process_sees_only_the_variables_it_was_given(tmp_path: Path) -> None:
    """The daemon's own environment may hold credentials."""
    end = asyncio.run(run_to_end(a_command(tmp_path, "env"), 10))

    assert end is not None
    assert {line.split("=")[0] for line in end.output.splitlines()} <= {"PATH", "PWD"}


def test_a_signal_ends_with_128_and_its_number(tmp_path: Path) -> None:
    """The convention of container runtimes."""

    async def terminated() -> Exit:
        process = await start_process(a_command(tmp_path, "sleep", "600"), None)
        process.terminate()
        return await process.wait()

    assert asyncio.run(terminated()).code == 128 + signal.SIGTERM


def test_nothing_of_a_container_outlives_its_main_process(tmp_path: Path) -> None:
    """A container's process namespace ends with its first process."""
    log = tmp_path / "main.log"
    # The second one leaves the session too, as daemons do.
    script = "sleep 600 & echo $!; setsid sleep 600 & echo $!; sleep 0.2"

    async def run() -> Exit:
        return await (await start_process(a_script(tmp_path, script), log)).wait()

    end = asyncio.run(run())

    pids = [int(pid) for pid in log.read_text().split()]
    assert end.code == 0
    assert len(pids) == 2
    assert not [pid for pid in pids if psutil.pid_exists(pid)]


def test_kill_also_ends_what_ignores_sigterm(tmp_path: Path) -> None:
    """The grace period is an offer, not a right."""
    log = tmp_path / "main.log"
    script = "trap '' TERM; echo ready; while :; do sleep 1; done"

    async def killed() -> Exit:
        process = await start_process(a_script(tmp_path, script), log)
        await asyncio.to_thread(lines_of, log, 1)
        process.terminate()
        process.kill()
        return await process.wait()

    assert asyncio.run(killed()).code == 128 + signal.SIGKILL


def test_a_killed_daemon_takes_every_process_along(tmp_path: Path) -> None:
    """An interrupted run must leave no process behind."""
    log = tmp_path / "main.log"
    daemon = (
        "import asyncio, pathlib\n"
        "from stowage_testbed.hostpods.process import Command, start_process\n"
        "async def main():\n"
        f"    here = pathlib.Path({str(tmp_path)!r})\n"
        "    script = 'sleep 600 & echo $!; echo $$; wait'\n"
        f"    command = Command(['sh', '-c', script], {PATH!r}, here)\n"
        f"    process = await start_process(command, here / 'main.log')\n"
        "    await process.wait()\n"
        "asyncio.run(main())\n"
    )
    with subprocess.Popen([sys.executable, "-c", daemon]) as process:
        pids = [int(pid) for pid in lines_of(log, 2)]
        assert all(psutil.pid_exists(pid) for pid in pids)

        process.kill()

    wait_gone(pids)


def test_a_command_that_does_not_exist_is_a_clear_error(tmp_path: Path) -> None:
    """The status shows this message, so it must name the program."""
    with pytest.raises(HostPodsError, match=r"'/no/such'.*No such file"):
        asyncio.run(start_process(a_command(tmp_path, "/no/such"), None))


def test_a_command_that_takes_too_long_is_killed(tmp_path: Path) -> None:
    """A probe that hangs must not pile up."""
    assert asyncio.run(run_to_end(a_command(tmp_path, "sleep", "600"), 0.1)) is None
