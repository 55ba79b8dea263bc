"""Where runs are kept: transactions, tables, the batching writer, and per subject the functions that hold the SQL."""
