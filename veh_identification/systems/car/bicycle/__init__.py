"""A car without force-measuring wheels: single-track model with roll, by prediction error."""
