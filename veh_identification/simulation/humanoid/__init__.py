"""The simulated humanoid."""
