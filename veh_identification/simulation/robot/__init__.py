"""Ground truth of arms: an own forward dynamics in world axes, sticking friction, a controller."""
