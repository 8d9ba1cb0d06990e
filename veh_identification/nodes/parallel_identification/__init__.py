"""Node `parallel_identification`."""
