"""Compiled loops on plain arrays; this package imports nothing else of rankfactor."""
