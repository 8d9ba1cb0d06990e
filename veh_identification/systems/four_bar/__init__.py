"""The four-bar linkage of Sinigaglia 2016."""
