"""A claims file of one claim, as tests ask it."""

from rmwbench.published.claims.claims_file import Claims
from rmwbench.published.claims.judging.judge import answers
from rmwbench.published.claims.ledger_view import view
from rmwbench.report.render.html import render_html
from rmwbench.report.render.markdown import render_markdown


def one_claim(about, test):
    """`about`: the keys of the file besides its items; `test`: those of the claim's test."""
    claim = {
        "id": "c",
        "heading": "h",
        "says": "x",
        "kind": "comparison",
        "published": {"verdict": "supported", "why": "y"},
        "test": test,
    }
    return Claims.model_validate({**about, "items": [claim]})


def today(claims, *campaigns, claim=None, **share):
    """The answers of these campaigns to the claim, by default the file's first."""
    return answers(claims, claim or claims.items[0], campaigns, **share)


def page(ledger, **about):
    """The ledger as Markdown."""
    return render_markdown(view(ledger, **about))


def html(ledger, link=lambda *where: None):
    return render_html(view(ledger, link=link))
