"""The 33 parameters from the equations."""
