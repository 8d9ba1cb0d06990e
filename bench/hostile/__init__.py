"""Damaged files and spoilt messages, made from a seed, and what must not happen with them."""
