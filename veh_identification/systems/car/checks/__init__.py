"""Is the recording what it says it is? Signs, swaps, camber, lags, weight."""
