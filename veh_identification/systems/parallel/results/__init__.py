"""What the identification of a parallel robot leaves."""
