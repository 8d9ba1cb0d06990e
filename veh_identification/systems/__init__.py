"""Each system joins a model, its sensors and what is estimated."""
