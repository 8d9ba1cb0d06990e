"""Exciting motions and advice on manoeuvres, for everything that can be identified."""
