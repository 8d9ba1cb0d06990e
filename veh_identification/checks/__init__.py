"""Is a recording what it says it is? Used offline and live by every system."""
