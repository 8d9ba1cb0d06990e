"""The simulated car of the identification scenarios."""
