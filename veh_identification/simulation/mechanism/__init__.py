"""The truth of a planar mechanism: bodies with Lagrange multipliers, and its sensors in a bag."""
