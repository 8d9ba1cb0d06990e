"""From series to the rows of equation (4)."""
