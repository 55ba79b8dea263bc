"""What `intent_classification` is made of: the taxonomy, the judge's form, the comparison, the words of its reasons."""
