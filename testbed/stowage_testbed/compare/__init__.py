"""The same scenario, several schedulers, one result that can be trusted."""
