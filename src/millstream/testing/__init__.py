"""The YAML test harness: cases, what they expect, and a report like a test runner's."""
