"""Sampling: pure strategies, and the pure ones among the checks."""
