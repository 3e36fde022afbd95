"""What the live page costs a browser, with a large cluster that never stands still."""
