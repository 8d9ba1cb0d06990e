"""Planar mechanisms described by a file: points, bodies, joints, springs, drives, sensors."""
