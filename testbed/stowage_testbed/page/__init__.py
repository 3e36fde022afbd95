"""What all pages share: one way to make one that works offline, and nodes as bars."""
