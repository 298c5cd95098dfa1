"""What Pulumi's SDK does for every resource that costs more than it tells."""

from __future__ import annotations

import atexit
import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager

FRAMES = 12
"""Of the stack that the SDK stores with a resource: its own half a dozen, and as many of the program's."""


@contextmanager
def lean() -> Iterator[None]:
    """Declare resources inside the block at less cost; what holds beyond it concerns this process alone.

    The SDK stores the whole stack of each declaration, which was 40% of the state and names folders of whoever ran it;
    and Python's collector goes again and again through hundreds of thousands of small objects that all live until the
    end.
    """
    gc.disable()
    # Python looks through everything once more when it ends.
    atexit.register(gc.freeze)
    sys.tracebacklimit = FRAMES
    try:
        yield
    finally:
        # An error is to be shown whole.
        del sys.tracebacklimit
