"""The command line: ``python -m ordering``."""

import sys

if __name__ == "__main__":
    try:
        from ordering.commands import main

        sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]  # no name is worth a failure
        status = main()
    except KeyboardInterrupt:
        status = 130
    sys.exit(status)
