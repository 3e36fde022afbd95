"""What a container does right after its start and right before its end."""

from __future__ import annotations

from stowage_testbed.hostpods.clock import LoopClock
from stowage_testbed.hostpods.errors import FeatureNotSupportedError
from stowage_testbed.hostpods.manifest import Manifest
from stowage_testbed.hostpods.probes.action import ActionContext, ask
from stowage_testbed.hostpods.probes.outcome import Outcome


async def run_hook(
    name: str, context: ActionContext, clock: LoopClock, timeout_s: float
) -> Outcome:
    """Run the container's ``postStart`` or ``preStop`` hook, if it has one."""
    hook: Manifest | None = context.container.get("lifecycle", {}).get(name)
    if hook is None:
        return Outcome(ok=True)
    if "sleep" in hook:
        await clock.pause(hook["sleep"]["seconds"])
        return Outcome(ok=True)
    try:
        return await ask(hook, context, timeout_s)
    except FeatureNotSupportedError as error:
        return Outcome(ok=False, message=str(error))
