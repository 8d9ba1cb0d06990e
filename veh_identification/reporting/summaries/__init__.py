"""Sentences about identifications, observer runs and recordings, made from their figures."""
