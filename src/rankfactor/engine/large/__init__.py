"""Fits to tables of many samples, in shards that threads or a cluster work on."""
