"""`python -m rmwbench`: the same as the command, where its folder is not on the PATH."""

from rmwbench.cli.main import main

if __name__ == "__main__":
    main()
