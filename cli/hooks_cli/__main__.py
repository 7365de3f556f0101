"""`python -m hooks_cli`: the same as the command `hooks`."""

from hooks_cli.app import main

if __name__ == "__main__":
    main()
