"""The YAML test harness: loads test cases, runs them, compares rows and reports results."""
