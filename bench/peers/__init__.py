"""Other engines on the same queries and files, each in an environment of its own."""
