"""Engines, messages, graphs, and the reading and writing of bags: the edge of the package."""
