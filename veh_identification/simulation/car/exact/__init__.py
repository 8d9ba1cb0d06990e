"""A car that the 20-dof model fits perfectly."""
