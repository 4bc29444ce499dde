"""What `python -m dartboard` does: the same as the program `dartboard`."""

import sys

from dartboard.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
