"""How fast this machine is, so that times of two machines can be held together."""
