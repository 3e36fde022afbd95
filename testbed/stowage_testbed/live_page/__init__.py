"""A page that shows a cluster while it changes: one watch, many browsers."""
