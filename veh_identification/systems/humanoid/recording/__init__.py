"""From bags to the series of a humanoid."""
