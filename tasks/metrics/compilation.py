"""Compiling inner loops, also where no folder can be written to. Importing this loads numba: do it only when needed."""

from collections.abc import Callable
from typing import Any

import numba


def compiled(function: Callable[..., Any]) -> Any:
    """Compiles without the interpreter's lock; keeps the machine code beside the module, or in the user's cache."""
    try:
        return numba.njit(cache=True, nogil=True)(function)
    except RuntimeError:  # no folder can be written to: each process compiles for itself
        return numba.njit(nogil=True)(function)
