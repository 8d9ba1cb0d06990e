"""Arms and other fixed-base trees from joint torques or currents."""
