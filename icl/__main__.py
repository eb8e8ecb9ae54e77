"""`python -m icl`: run a chapter, read the ledger, compare with the baselines."""

from press.cli import main

if __name__ == "__main__":
    main()
