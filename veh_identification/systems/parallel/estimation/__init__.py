"""Gauss-Markov and maximum likelihood."""
