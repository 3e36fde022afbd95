"""The harness measured by itself: what it costs, and whether its clocks agree."""
