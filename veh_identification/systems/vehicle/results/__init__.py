"""What an observer run leaves."""
