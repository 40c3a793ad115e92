"""`python -m rota` is the command `rota`."""

from rota.cli.main import main

if __name__ == "__main__":
    main()
