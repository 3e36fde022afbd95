"""Some of the instances again, on a real cluster, with plans carried out."""
