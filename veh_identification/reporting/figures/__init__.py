"""Plotly figures of the reports."""
