"""Many recordings of many machines: each reduced where it lies, then once more per machine."""
