"""The command `rota`: thin verbs, one file per noun or duty. Nothing is imported before its verb is asked for."""
