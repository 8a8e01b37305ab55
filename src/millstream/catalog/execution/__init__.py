"""Projects on Spark: resolvers, loaders, update operations, validation, runs and replays."""
