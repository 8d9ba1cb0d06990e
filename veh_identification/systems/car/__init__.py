"""Identification of passenger-car dynamics: Venture 2006 and Venture 2002."""
