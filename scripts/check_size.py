"""Refuse files above 1 MB: a clone should stay small, and data that can be made again has no place in it.

    python scripts/check_size.py FILE ...
"""

import os
import sys

LIMIT = 1_000_000


def main():
    large = [name for name in sys.argv[1:] if os.path.isfile(name) and os.path.getsize(name) > LIMIT]
    for name in large:
        print(f"{name}: at most {LIMIT:,} bytes expected, found {os.path.getsize(name):,}")
    return 1 if large else 0


if __name__ == "__main__":
    sys.exit(main())
