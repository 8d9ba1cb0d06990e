"""Tree models, their regressors and base parameters; natural-coordinate models."""
