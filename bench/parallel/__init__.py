"""The hexapod beside the usual ways; `veh-id bench parallel`."""
