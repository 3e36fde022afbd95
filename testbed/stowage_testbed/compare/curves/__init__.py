"""Lines that plots and page draw: latency distributions, and loads over time."""
