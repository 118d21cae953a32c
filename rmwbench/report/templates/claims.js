// Claims: which of them are shown, and the values of trials in the dialog. Pages without claims have neither.
"use strict";
(() => {
  const claims = [...document.querySelectorAll("article.claim")];
  const form = document.querySelector("form.filter");
  const dialog = document.getElementById("evidence");
  const body = document.getElementById("evidence-body");

  if (form) {
    const holds = (section) => section.querySelector("article.claim") && !section.contains(form);
    const groups = [...document.querySelectorAll("section")].filter(holds).reverse();
    const wanted = (name) => form.elements[name]?.value || "";
    const told = form.querySelector("output");
    const fits = (claim) => {
      const state = wanted("state"), data = wanted("data"), source = wanted("source");
      const here = !state || (state === "proxy" ? "proxy" in claim.dataset : claim.dataset.state === state);
      return here && (!data || claim.dataset.data.split("|").includes(data)) && (!source || claim.dataset.source === source);
    };
    const filter = () => {
      for (const claim of claims) claim.hidden = !fits(claim);
      // The inner ones first: a source is shown where one of its headings is.
      for (const group of groups) {
        group.hidden = !group.querySelector("article.claim:not([hidden])");
      }
      const shown = claims.filter((claim) => !claim.hidden).length;
      told.textContent = shown === claims.length ? `all ${shown}` : `${shown} of ${claims.length}`;
    };
    form.addEventListener("change", filter);
    form.addEventListener("submit", (event) => event.preventDefault());
    form.hidden = false;
    filter();  // a browser that was left and comes back keeps what was chosen
    // A link to a claim or a heading that is hidden shows everything again.
    const reveal = () => {
      const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
      if (target && target.closest("[hidden]")) { form.reset(); filter(); target.scrollIntoView(); }
    };
    addEventListener("hashchange", reveal);
    document.addEventListener("click", (event) => { if (event.target.closest("a[href^='#']")) setTimeout(reveal); });
    reveal();
  }

  document.addEventListener("click", (event) => {
    const summary = event.target.closest("details.trials > summary");
    if (!summary) return;
    event.preventDefault();
    const claim = summary.closest("article.claim");
    const make = (tag, text, name) => { const e = document.createElement(tag); if (text !== undefined) e.textContent = text; if (name) e.className = name; return e; };
    const title = make("h2", claim.querySelector(".says b").textContent);
    title.id = "evidence-title";
    const here = summary.closest(".here");
    const found = [...here.children].filter((e) => e.tagName !== "DETAILS").map((e) => e.cloneNode(true));
    const values = [...summary.parentElement.children].filter((e) => e !== summary).map((e) => e.cloneNode(true));
    body.replaceChildren(make("p", claim.querySelector("code").textContent, "eyebrow"), title, ...found, ...values);
    dialog.showModal();
    dialog.querySelector(".sheet").scrollTop = 0;
  });
})();
