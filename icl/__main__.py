"""`python -m icl`: a door to the press, which runs chapters, checks numbers and builds the book.

Where only the library is installed, `compare` works all the same.
"""

import sys


def main() -> None:
    """The command line: the press's, or `compare` alone."""
    try:
        from press.cli import main as press
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] != "press":
            raise
        return _library(sys.argv[1:])
    press()


def _library(arguments: list[str]) -> None:
    from icl.comparison import command
    from icl.validation import InputError

    if arguments[:1] != ["compare"]:
        sys.exit("icl: this installation holds the library, whose only command is compare; the others come with a "
                 "checkout of the book.")  # fmt: skip
    try:
        command.main(arguments[1:])
    except InputError as error:
        sys.exit(f"icl: {error}")
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
