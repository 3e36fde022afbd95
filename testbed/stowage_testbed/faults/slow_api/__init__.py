"""An API server that takes its time: a proxy in front of it that delays each call."""
