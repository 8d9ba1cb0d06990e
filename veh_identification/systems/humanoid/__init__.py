"""Whole-body parameters of humanoids from contact wrenches and motion alone (Ayusawa 2008)."""
