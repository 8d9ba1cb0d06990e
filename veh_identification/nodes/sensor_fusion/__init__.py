"""Node `sensor_fusion`."""
