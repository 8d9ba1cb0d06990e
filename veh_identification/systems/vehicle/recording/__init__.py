"""From bags to the samples of a car."""
