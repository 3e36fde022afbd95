"""The evaluation as one page that works offline."""
