"""The simulated buggy."""
