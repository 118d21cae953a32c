"""What a report concludes, in words: facts read off the show document, the headline of a workload,
what to conclude and what not, and what more blocks would decide."""
