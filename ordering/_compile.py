"""Compilation of the kernels: cached between processes where a cache can be written, compiled anew elsewhere."""

from numba import njit


def compiled(function=None, **options):
    """Compile a kernel; a read-only installation without a home directory only loses the cache."""
    if function is None:
        return lambda function: compiled(function, **options)
    try:
        return njit(cache=True, nogil=True, **options)(function)
    except RuntimeError:  # numba found no place for its cache
        return njit(nogil=True, **options)(function)
