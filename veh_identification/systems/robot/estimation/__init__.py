"""Unknowns beside the linear ones, the estimators, links, payloads."""
