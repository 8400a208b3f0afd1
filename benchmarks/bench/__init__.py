"""Speed and memory beside other programs: `make bench`."""
