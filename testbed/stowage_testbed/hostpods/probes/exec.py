"""Asking by running a command."""

from __future__ import annotations

from stowage_testbed.hostpods.errors import CommandNotStartedError
from stowage_testbed.hostpods.probes.outcome import Outcome
from stowage_testbed.hostpods.process import Command, run_to_end


async def probe_exec(command: Command, timeout_s: float) -> Outcome:
    """Succeed if the command ends with 0 in time."""
    try:
        ended = await run_to_end(command, timeout_s)
    except CommandNotStartedError as error:
        return Outcome(ok=False, message=str(error))
    if ended is None:
        return Outcome(ok=False, message=f"command took longer than {timeout_s:g} s")
    message = f"exit code {ended.code}: {ended.output.strip()}"
    return Outcome(ok=ended.code == 0, message=message)
