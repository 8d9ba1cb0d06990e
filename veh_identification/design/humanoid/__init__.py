"""Motions of a humanoid that excite its parameters."""
