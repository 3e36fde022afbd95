"""What every room stands on: errors, waiting, files, child processes."""
