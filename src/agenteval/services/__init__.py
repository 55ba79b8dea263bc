"""What people do with the product, whichever way they reach it: each service owns its transactions."""
