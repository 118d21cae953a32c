"""`python -m rmwbench`: the command, for a shell that does not find it on the PATH."""

from rmwbench.cli.main import main

if __name__ == "__main__":
    main()
