"""Is the recording what it says it is? Units, frames, clocks, offsets, supports."""
