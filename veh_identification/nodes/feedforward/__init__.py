"""Node `feedforward`."""
