"""`stowage init`: the first files of a project that tests its scheduling."""
