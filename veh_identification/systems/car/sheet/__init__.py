"""The identified car in the terms of vehicle dynamics: the engineer's sheet."""
