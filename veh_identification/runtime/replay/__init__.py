"""The replay engine: bag in, bag out, one thread, time from the recording."""
