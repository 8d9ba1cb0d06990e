"""Rows, estimate and payload while joint states come in."""
