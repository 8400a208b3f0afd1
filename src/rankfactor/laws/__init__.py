"""Probability laws: each holds its parameters and gives the moments that inference needs."""
