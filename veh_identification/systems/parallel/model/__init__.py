"""Geometry, kinematics and dynamics of six-legged robots."""
