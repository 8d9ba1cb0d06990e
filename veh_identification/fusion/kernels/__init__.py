"""Compiled steps of the inertial filter."""
