"""Reading and writing of MCAP files."""
