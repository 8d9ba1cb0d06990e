"""Six-legged parallel robots (Abdellatif 2009): model, processing, estimation."""
