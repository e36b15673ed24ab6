"""`python -m flows` is the command line, for machines on which scripts are not on the path."""

from flows.cli import main

if __name__ == "__main__":
    main()
