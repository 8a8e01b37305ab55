"""`python -m millstream.cli` is `millstream`."""

from millstream.cli.main import app

if __name__ == "__main__":
    app(prog_name="millstream")
