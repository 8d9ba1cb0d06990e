"""Ground truth of each system with disturbances and sensors, written into bags."""
