"""A process that holds one contestant and answers one line of JSON with another.

The first line names the contestant, its table (two .npy files) and its arguments; those that follow
say what to do: {"do": "stretch", "n": 5}, {"do": "fit", "limit": 60}, {"do": "memory"},
{"do": "elbo", "n": 5}. Started by its path, so that it runs under a Python without rankfactor.
"""

import json
import os
import resource
import sys
import warnings

import numpy as np
from contestants import CONTESTANTS


def memory(name):
    """VmRSS (now) or VmHWM (the most so far) in bytes.

    Not `ru_maxrss`, which a process takes over from the one that started it; elsewhere than on
    Linux there is nothing better.
    """
    try:
        with open("/proc/self/status", encoding="ascii") as lines:
            return next(1024 * int(line.split()[1]) for line in lines if line.startswith(name))
    except (OSError, StopIteration):
        unit = 1 if sys.platform == "darwin" else 1024
        return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def peak_of(action):
    """Most memory during an action above that before it, in bytes."""
    try:
        with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
            file.write("5")  # forgets the most so far
    except OSError:
        pass
    before = memory("VmRSS")
    action()
    return memory("VmHWM") - before


def answer(contestant, order):
    if order["do"] == "stretch":
        return {"seconds": contestant.stretch(max(order["n"], contestant.least))}
    if order["do"] == "fit":
        return contestant.fit(order["limit"])
    if order["do"] == "memory":
        return {"bytes": peak_of(contestant.short)}
    if order["do"] == "elbo":
        return {"share": contestant.elbo_share(order["n"])}
    raise ValueError(f"unknown order {order['do']!r}.")


def main():
    # Peers write banners to standard output, which is the line to the parent.
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    warnings.simplefilter("ignore")
    first = json.loads(sys.stdin.readline())
    kind, arguments, _, _ = CONTESTANTS[first["contestant"]]
    X, y = np.load(first["X"]), np.load(first["y"])
    contestant = kind(X, y, first["threads"], **arguments, **first["arguments"])
    for line in sys.stdin:
        replies.write(json.dumps(answer(contestant, json.loads(line))) + "\n")
        replies.flush()


if __name__ == "__main__":
    main()
