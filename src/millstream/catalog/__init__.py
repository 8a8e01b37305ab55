"""Versioned datasets, periods, projects and runs. The streaming engine does not import it."""
