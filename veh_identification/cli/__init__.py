"""The command line `veh-id`: one file a verb, each with `add_parser` and `run`."""
