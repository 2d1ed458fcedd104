"""Measuring: metrics over answers and gold, and statistics that hold."""
