"""What `conversation_completeness` is made of: the judge's forms, the items and their score, the words, the output."""
