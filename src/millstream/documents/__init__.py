"""YAML documents whose values have positions, for test files and definitions."""
