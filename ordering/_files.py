"""Files that appear whole or not at all."""

import os
import uuid
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def whole_file(path, mode="w", **options):
    """Open a draft beside `path` that takes its place at the end, and is gone after an error."""
    path = Path(path)
    draft = path.with_name(uuid.uuid4().hex + ".draft")
    try:
        with open(draft, mode, **options) as file:
            yield file
        os.replace(draft, path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
