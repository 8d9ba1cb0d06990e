"""Node `car_identification`."""
