"""What is done to the plans of any strategy: limits, gains by moves, cheapest pods."""
