"""Constraints of the model that enter like measurements."""
