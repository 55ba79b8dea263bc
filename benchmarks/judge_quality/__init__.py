"""How well the judge agrees with people, on dialogs that people have labelled."""
