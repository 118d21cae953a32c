"""`rmwbench decide`: campaigns and a limits file -> one user's answer as a document, in a terminal
and as a page."""
