"""What decides on factor scores: linear, gated and per-component classifiers."""
