"""What each screen asks of the API; its templates are in the folder of its section."""
