"""Single updates: scores given rows, rows given scores, both in one pass, and the encoder."""
