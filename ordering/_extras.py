"""What to say where a package is missing that only a part of this one needs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def needs(extra: str, module: str) -> Iterator[None]:
    """Around the imports of an optional package: if it is missing, say how to install it.

    Parameters
    ----------
    extra : str
        Key of ``[project.optional-dependencies]`` in pyproject.toml.
    module : str
        Who needs it: ``__name__``.

    Raises
    ------
    ImportError
        In place of ModuleNotFoundError.

    Examples
    --------
    >>> with needs("plots", "ordering.plots"):
    ...     import no_such_package
    Traceback (most recent call last):
    ImportError: ordering.plots needs no_such_package: pip install 'ordering[plots]'
    """
    try:
        yield
    except ModuleNotFoundError as error:
        missing = str(error.name).partition(".")[0]
        raise ImportError(f"{module} needs {missing}: pip install 'ordering[{extra}]'", name=missing) from error
