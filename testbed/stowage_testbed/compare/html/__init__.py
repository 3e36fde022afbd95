"""The report as one page that works offline, with everything inside."""
