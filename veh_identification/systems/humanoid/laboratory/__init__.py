"""Files of motion laboratories."""
