"""Delta Lake tables, through the package `deltalake`: no JVM, no Spark extension."""
