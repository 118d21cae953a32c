"""How many blocks decide anything. Answers say it too, which need no suite."""

DECIDABLE_BLOCKS = 5
"""With fewer nothing is decided (`rmwbench.analysis.verdicts.verdict.Rules.min_blocks`), so a look
at fewer would be wasted."""
