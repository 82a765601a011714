"""`python -m memrank`: the command, where the script is not on the path."""

from memrank.cli.main import main

if __name__ == "__main__":
    main()
