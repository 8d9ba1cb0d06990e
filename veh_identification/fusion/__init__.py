"""Sensor fusion without ROS: time alignment, frames, geodesy, inertial navigation, filtering."""
