"""The base-link equation while the robot moves."""
