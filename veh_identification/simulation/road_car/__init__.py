"""A road car that shares no code with the observed model: two tracks, own tyres, own road."""
