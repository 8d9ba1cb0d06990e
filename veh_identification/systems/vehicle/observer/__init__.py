"""The errorEKF of a car."""
