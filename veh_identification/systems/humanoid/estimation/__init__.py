"""Base parameters and links from the rows."""
