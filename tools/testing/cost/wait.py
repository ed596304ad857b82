# SPDX-License-Identifier: GPL-2.0
"""Waiting for something to be so, with a bound."""

import time


def until(so, what, seconds):
    """Waits until `so()` is true. Raises RuntimeError after that many seconds of the guest."""
    end = time.monotonic() + seconds
    while not so():
        if time.monotonic() > end:
            raise RuntimeError(f"waited in vain: {what}")
        time.sleep(0.01)
