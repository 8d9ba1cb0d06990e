"""Identification of a car while it drives."""
