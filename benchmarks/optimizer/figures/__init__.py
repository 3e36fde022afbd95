"""From records to figures with their targets."""
