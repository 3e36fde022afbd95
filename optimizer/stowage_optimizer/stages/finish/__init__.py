"""What is done to the plans of any strategy: gains by moves, cheapest pods."""
