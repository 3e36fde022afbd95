"""The pytest plugin, whose light front is `plugin`, and `stowage run` as a session of pytest: `run_scenarios`."""
