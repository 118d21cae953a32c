"""The processes of a trial and the protocol with them: starts, commands, answers and ends."""
