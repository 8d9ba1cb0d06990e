"""Excitation of parallel robots (Abdellatif 2009, section 4)."""
