"""A claims file of one claim, and the answers that tests ask of it."""

from rmwbench.published.claims.claims_file import Claims
from rmwbench.published.claims.claims_ledger import ledger
from rmwbench.published.claims.judging.judge import answers
from rmwbench.published.claims.ledger_view import view
from rmwbench.report.render.html import render_html
from rmwbench.report.render.markdown import render_markdown


def one_claim(about, test):
    """Return a claims file. `about`: the keys of the file besides its items; `test`: those of the
    claim's test."""
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
    """Return the answers of these campaigns to the claim, by default the file's first."""
    return answers(claims, claim or claims.items[0], campaigns, **share)


def judged(file, *campaigns):
    """Return the file's only claim in a ledger of these campaigns."""
    (claim,) = ledger([file], campaigns).claims
    return claim


def page(made, **about):
    """Return the ledger as Markdown."""
    return render_markdown(view(made, **about))


def html(made):
    return render_html(view(made, link=lambda *where: None))
