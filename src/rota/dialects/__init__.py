"""Foreign vocabularies, one folder each: shapes, words and keys of other programs, translated. No rules live here."""
