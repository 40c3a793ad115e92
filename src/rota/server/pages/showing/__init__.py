"""From what a page gathered to HTML: words, colours, templates, and the files beside them."""
