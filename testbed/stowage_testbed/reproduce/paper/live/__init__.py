"""Some of the instances once more, on a real cluster, with plans carried out."""
