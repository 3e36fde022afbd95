"""What pytest leaves alone here: a project of its own, which has its own pytest."""

collect_ignore = ["sample_project"]
