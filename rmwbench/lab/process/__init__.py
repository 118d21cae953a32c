"""The processes of a trial and the protocol with them: start, command, hear, end."""
