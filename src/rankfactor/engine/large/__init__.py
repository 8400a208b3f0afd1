"""Fits to tables of many samples, in shards processed by threads or a cluster."""
