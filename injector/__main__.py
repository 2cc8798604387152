"""`python -m injector` is the command `injector`."""

from injector.cli.main import main

if __name__ == "__main__":
    main()
