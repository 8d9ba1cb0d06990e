"""Exciting motions of arms."""
