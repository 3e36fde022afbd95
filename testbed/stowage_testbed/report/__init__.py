"""What a run leaves behind: tables, a results bundle, JUnit, evidence. Begin with `showing.show_run`."""
