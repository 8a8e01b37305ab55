"""`python -m millstream.cli` is `millstream`."""

from millstream.cli.main import app

app(prog_name="millstream")
