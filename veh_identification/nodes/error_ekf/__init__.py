"""Node `error_ekf`."""
