"""Manoeuvres that bring the deviations of a car below wanted ones."""
