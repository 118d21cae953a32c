"""How a repository answers: pull requests and issues over time, from GitHub's API or from saved
files."""
