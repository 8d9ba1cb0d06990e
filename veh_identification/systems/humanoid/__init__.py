"""Whole-body parameters of humanoids from contact wrenches and motion alone (document 004)."""
