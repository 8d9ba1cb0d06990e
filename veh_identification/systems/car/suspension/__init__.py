"""Springs and dampers that are not straight lines: curves chosen by evidence."""
