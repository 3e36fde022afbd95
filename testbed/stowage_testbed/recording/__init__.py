"""From what was watched in a window to records and footprints."""
