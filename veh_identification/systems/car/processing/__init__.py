"""From series to the signals and Gram matrices of the equations."""
