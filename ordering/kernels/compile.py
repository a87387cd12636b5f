"""Compilation of the kernels, cached between processes where a cache can be written; and threads that run them."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache

import numba
from threadpoolctl import ThreadpoolController


def compiled(function=None, **options):
    """Compile a kernel; a read-only installation without a home directory only loses the cache."""
    if function is None:
        return lambda function: compiled(function, **options)
    try:
        return numba.njit(cache=True, nogil=True, **options)(function)
    except RuntimeError:  # numba found no place for its cache
        return numba.njit(nogil=True, **options)(function)


def in_threads(function, *lists):
    """Results of one call for each element of the lists, in threads that use BLAS and kernels with one thread each."""
    n_threads = min(numba.get_num_threads(), len(lists[0]))
    if n_threads < 2:
        return list(map(function, *lists))
    with _serial_blas(), ThreadPoolExecutor(n_threads, initializer=numba.set_num_threads, initargs=(1,)) as pool:
        return list(pool.map(function, *lists))


@cache
def _libraries():
    """The libraries that have threads of their own; to look for them takes as long as a small call."""
    return ThreadpoolController()


_LOCK = threading.Lock()
_USERS: list = []


@contextmanager
def _serial_blas():
    """One BLAS thread for as long as anybody is inside; the first in sets the limit, the last out lifts it."""
    with _LOCK:
        if not _USERS:
            _USERS.append(_libraries().limit(limits=1, user_api="blas"))
        _USERS.append(None)
    try:
        yield
    finally:
        with _LOCK:
            _USERS.pop()
            if len(_USERS) == 1:
                _USERS.pop().restore_original_limits()
