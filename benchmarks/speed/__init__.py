"""How fast the product is, as ratios to the least that such work takes: a hand-made floor, run beside it."""
