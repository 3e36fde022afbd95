"""Running scenarios on a cluster, from a file to an outcome. Begin with `scenario_run.run_scenario`."""
