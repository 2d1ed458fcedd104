"""``python -m sleuth`` is the command line."""

import sys

from sleuth.cli import main

if __name__ == "__main__":
    sys.exit(main())
