"""Findings made from the figures of a result: what speaks for it, and what against it."""
