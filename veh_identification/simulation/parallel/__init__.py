"""The simulated hexapod."""
