"""The reports as pages."""
