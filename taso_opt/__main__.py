"""Runs the command line as `python -m taso_opt`."""

import sys

from taso_opt.cli import main

if __name__ == "__main__":
    sys.exit(main())
