"""From what was watched in a window to records and footprints. Begin with `run_record.make_record`."""
