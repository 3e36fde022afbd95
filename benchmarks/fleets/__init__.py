"""Plans of fleets: real nodes and pods, and made ones of five and fifteen thousand."""
