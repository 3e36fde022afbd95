"""Scenarios: what is put on a cluster, and what must come of it.

Begin with `load.load_file`, which reads a file and names all its issues;
`scenario_file.ScenarioFile` declares what a file may say.
"""
