"""What every room stands on: errors, waiting, files, child processes. Begin with `errors.StowageError`."""
