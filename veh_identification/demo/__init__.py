"""The steps of `veh-id demo`: each simulates, runs the real code and compares with the truth."""
