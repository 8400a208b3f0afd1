"""Probability distributions: each has its parameters and the moments that inference needs."""
