"""Is what came plausible? Single channels, the whole of motion and efforts, the fit."""
