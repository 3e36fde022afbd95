"""The evaluation of "Boreas", seed 004: deployments that need to be planned whole."""
