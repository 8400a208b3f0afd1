"""Compiled loops on plain arrays; this package imports nothing else of rankfactor."""

from rankfactor.kernels.cache import tolerate_bad_disks

tolerate_bad_disks()
