"""`python -m icl`: a door to the press, which runs chapters, checks numbers and builds the book."""

import sys

if __name__ == "__main__":
    try:
        from press.cli import main
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] != "press":
            raise
        sys.exit("icl: the commands come with a checkout of the book; this installation holds the library alone.")
    main()
