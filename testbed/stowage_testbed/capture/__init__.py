"""From a cluster to a scenario that has what scheduling on it depends on."""
