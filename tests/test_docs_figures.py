"""What pages say was lost or never sent, against the measured files that ship.

`figures_of_pages.txt` names where the figures of a section are from:

    # PAGE: SECTION
    suites/published/SOURCE/measured/FILE.json
      "| 54 Mbit/s | {} lost |": loss of ARM in WORKLOAD

The braces stand for the figure: computed again from the file, it must stand at that place in a
table or paragraph of the section. Shares of what was lost in any other table or paragraph are in a
section that `HAND_CHECKED` names, with what makes its word right.
"""

import json
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from rmwbench.words import numbers as fmt

ROOT = Path(__file__).parents[1]
PAGES = ("degraded", "evaluations", "findings")
LINE = re.compile(r'"(?P<quote>.*\{\}.*)": (?P<metric>\S+) of (?P<arm>.+?) in (?P<workload>.+)')
SHARE = re.compile(r"\d[\d.]* % (?:of the \w+ )?(?:are |were )?(?:lost|never sent)\b")
WORD = re.compile(r"\b(lost|lose|loses|losses|never sent)\b", re.IGNORECASE)

OTHERS = "figures of a published source, in its own words"
OF_SENT = "a metric that counts what was sent alone"
OF_FRAMES = "frames on a link, or no share of messages"
HAND_CHECKED = {
    "degraded": {
        "Discovery or delivery, 54 Mbit/s, 10 % per interface and direction": OF_SENT,
    },
    "evaluations": {},
    "findings": {
        '3. Most of the "loss" of 2020 is discovery': OTHERS,
        '4. "20 % loss" is 36 %': OTHERS,
        "5. Nine conditions are dead, not eleven; six are Cyclone's alone, not four": OTHERS,
        '6. The mode that "lost 58 %" delivered the most': OTHERS,
        "15. gscam 2025: a pool size that was never set, a run that is not there": OTHERS,
        "2019, with its own middleware": "theirs, and ours said to be of what was sent",
    },
}
"""Page -> section -> why its words are right without a measured file."""


@dataclass(frozen=True)
class Figure:
    page: str
    section: str
    file: str
    quote: str
    metric: str
    arm: str
    workload: str


@dataclass(frozen=True)
class Block:
    """A table or a paragraph of a section."""

    page: str
    section: str
    text: str

    @property
    def flat(self):
        """Without the lines' ends, so that a quote may be wrapped."""
        return " ".join(self.text.split())


def blocks(page):
    section = ""
    for part in re.split(r"\n\s*\n", (ROOT / f"docs/{page}.md").read_text(encoding="utf-8")):
        if heading := re.match(r"#+ (.+)", part):
            section = heading[1]
        yield Block(page, section, part)


def figures():
    page = section = file = ""
    text = Path(__file__).with_name("figures_of_pages.txt").read_text(encoding="utf-8")
    for line in filter(None, text.splitlines()):
        if line.startswith("# "):
            page, section = line[2:].split(": ", maxsplit=1)
        elif line.startswith("  "):
            match = LINE.fullmatch(line.strip())
            assert match, f"not a figure: {line}"
            yield Figure(page, section, file, **match.groupdict())
        else:
            file = line


def arms_in(file, workload, arm):
    document = json.loads((ROOT / file).read_text(encoding="utf-8"))
    found = {
        json.dumps(a): a
        for campaign in document["campaigns"]
        for w in campaign["workloads"]
        if w["workload"] == workload
        for a in w["arms"]
        if a["arm"] == arm
    }
    return list(found.values())


def again(figure):
    """The figure as a page prints it. Of what was due the response latency counts every message,
    the loss those that were sent."""
    (arm,) = [
        a
        for a in arms_in(figure.file, figure.workload, figure.arm)
        if figure.metric in ("failed", "never_sent_share") or figure.metric in a["metrics"]
        if "loss" in a["metrics"] or figure.metric == "achieved_rate"
    ]
    metrics = arm["metrics"]
    if figure.metric == "never_sent_share":
        sent, due = metrics["loss"]["count"], metrics["response_latency_p50"]["count"]
        return fmt.percent(1 - sent / due)
    if figure.metric == "failed":
        failed, done = len(arm.get("lost_blocks") or ()), metrics["loss"]["trials"]
        return f"{failed} of {failed + done}"
    value = metrics[figure.metric]["value"]
    return fmt.percent(value) if figure.metric == "loss" else fmt.significant(value)


def said(figure):
    return figure.quote.replace("{}", again(figure))


BLOCKS = [block for page in PAGES for block in blocks(page)]
FIGURES = list(figures())


def figures_of(block):
    """What the figures of the block's section say in this block."""
    own = [f for f in FIGURES if (f.page, f.section) == (block.page, block.section)]
    return [text for text in map(said, own) if text in block.flat]


@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: f"{figure.page}-{figure.metric}")
def test_a_figure_is_what_its_measured_file_says(figure):
    own = [b for b in BLOCKS if (b.page, b.section) == (figure.page, figure.section)]
    assert any(said(figure) in block.flat for block in own), (
        f"docs/{figure.page}.md, {figure.section}: no `{said(figure)}`"
    )


def tells_a_share(text):
    head = text.splitlines()[0] if text.startswith("|") else ""
    return any(
        re.search(r"\d %", line) and (WORD.search(line) or WORD.search(head))
        for line in text.splitlines()
    )


@pytest.mark.parametrize("page", PAGES)
def test_every_share_of_what_was_lost_has_its_file_or_was_checked_by_hand(page):
    own = [b for b in BLOCKS if b.page == page]
    loose = {b.section for b in own if tells_a_share(b.text) and not figures_of(b)}
    unknown = loose - HAND_CHECKED[page].keys()
    assert not unknown, f"docs/{page}.md: neither a file nor a check by hand: {sorted(unknown)}"
    assert HAND_CHECKED[page].keys() <= loose, "checked by hand, and nothing is left to check"


def test_of_a_block_with_figures_every_share_is_one_of_them():
    for block in BLOCKS:
        texts = figures_of(block)
        shares = SHARE.findall(block.flat) if texts else []
        missing = [share for share in shares if not any(share in text for text in texts)]
        assert not missing, f"{missing} of {block.section} are of no figure"
