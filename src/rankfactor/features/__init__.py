"""From a user's table to the numbers that a model sees, and the same for new samples."""
