"""Whether a count is what a chance makes it: the bound of Chernoff and Hoeffding.

P(share of n draws beyond x) <= exp(-n KL(x || p)) on either side (Hoeffding 1963, theorem 1), for
every n and p, so the confidence named here is kept and never missed. Bursts are fewer draws: n is
divided by (1 + c) / (1 - c), where c is the correlation of one frame's loss with the next one's.
"""

import math

FLAG_CHANCE = 0.01
VOID_CHANCE = 1e-6
"""One good trial in a hundred is flagged. To void those too would throw away what is merely far
from the mean, and bend the results; a link that is not what it should be is found at this chance
within a few hundred frames."""


def at_most(count: int, of: int, chance: float, correlation: float = 0.0) -> float:
    """A bound of how likely it is that `count` of `of` draws with this chance are so far from their
    mean, or farther."""
    if of == 0:
        return 1.0
    share = count / of
    if share == chance:
        return 1.0
    if chance in (0.0, 1.0):
        return 0.0
    divergence = sum(
        seen * math.log(seen / meant)
        for seen, meant in ((share, chance), (1 - share, 1 - chance))
        if seen > 0
    )
    independent = of * (1 - correlation) / (1 + correlation)
    return min(1.0, 2 * math.exp(-independent * divergence))
