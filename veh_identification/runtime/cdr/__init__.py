"""Serialised messages: one walk through them, and what is generated from it."""
