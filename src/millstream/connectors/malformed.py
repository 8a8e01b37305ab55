"""Records that do not fit their source's schema, as they stand among its rows."""

BAD = "_ms_bad"  # the column that holds the text of such a record, and NULL in all other rows
