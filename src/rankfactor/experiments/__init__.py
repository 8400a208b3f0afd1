"""The paper's tables, reproduced, and a suite of data sets: one file per table.

Every file states what the data are, which models are compared and what the paper reports; the
choice of settings, the folds and the format of results are shared. Nothing is chosen on a test
part. The command line interface is ``rankfactor reproduce``.
"""
