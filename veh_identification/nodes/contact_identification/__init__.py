"""Node `contact_identification`."""
