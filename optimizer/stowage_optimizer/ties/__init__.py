"""What ties pods to each other beyond room: one file for each kind of tie."""
