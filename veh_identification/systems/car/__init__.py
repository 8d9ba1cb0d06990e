"""Identification of passenger-car dynamics: documents 000 (2006) and 001 (2002)."""
