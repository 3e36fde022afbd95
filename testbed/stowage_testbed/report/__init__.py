"""What a run leaves behind: tables, a results bundle, JUnit, evidence of failures."""
