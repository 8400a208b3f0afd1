"""Engines: how the parts of a model are fitted and new samples encoded."""
