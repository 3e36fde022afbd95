"""What each backend costs: time until it can be used, and memory."""
