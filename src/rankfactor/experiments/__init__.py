"""The paper's tables, reproduced, and a suite of data sets: one file a table.

Every file says what the data are, which models are compared and what the paper has; how settings
are chosen, how folds are made and what a result looks like is shared. Nothing is chosen on a test
part. ``rankfactor reproduce`` is the way in from the command line.
"""
