"""Side studies of Venture 2006: models and filters compared."""
