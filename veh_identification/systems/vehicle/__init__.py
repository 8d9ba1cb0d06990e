"""A four-wheel car with double wishbones in natural coordinates, and its observer."""
