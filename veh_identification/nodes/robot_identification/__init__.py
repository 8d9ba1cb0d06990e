"""Node `robot_identification`."""
