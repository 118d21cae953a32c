// The page works without this file except for the charts; here: charts, the theme button, and numbers that open a dialog.
"use strict";
(() => {
  const specs = JSON.parse(document.getElementById("specs").textContent);
  const inks = JSON.parse(document.getElementById("inks").textContent);

  // Colours become CSS variables after drawing, so that theme and printing never need a second drawing.
  function ink(root) {
    for (const node of root.querySelectorAll("[fill],[stroke]")) {
      for (const name of ["fill", "stroke"]) {
        const variable = inks[(node.getAttribute(name) || "").toLowerCase()];
        if (variable) node.style[name] = variable;
      }
    }
  }

  async function draw(box) {
    const width = Math.floor(box.clientWidth);
    if (!width || box.dataset.width === String(width)) return;
    box.dataset.width = width;
    const drawing = specs[box.dataset.spec];
    const spec = structuredClone((width < 520 && drawing.narrow) || drawing.wide);
    spec.datasets = drawing.datasets;
    if (spec.usermeta.rmwbench.facet) {
      const columns = spec.usermeta.rmwbench.columns || { wide: 2, narrow: 1 };
      spec.columns = width < 620 ? columns.narrow : columns.wide;
      spec.spec.width = Math.max(120, Math.floor((width - 74 - 20 * (spec.columns - 1)) / spec.columns));
    } else {
      spec.width = width;
    }
    const result = await window.vegaEmbed(box, spec, { actions: false, renderer: "svg", tooltip: { theme: "custom" } });
    ink(box);
    result.view.addResizeListener(() => ink(box));
    box.dataset.drawn = "yes";
  }

  const boxes = [...document.querySelectorAll(".chart")];
  const seen = new Set();
  const show = (box) => { seen.add(box); return draw(box); };
  const watcher = new IntersectionObserver(
    (entries) => entries.filter((e) => e.isIntersecting).forEach((e) => { watcher.unobserve(e.target); show(e.target); }),
    { rootMargin: "800px" });
  boxes.forEach((box) => watcher.observe(box));
  // The rest is drawn while nothing else happens, so that printing finds every chart.
  const idle = window.requestIdleCallback || ((f) => setTimeout(f, 200));
  const next = () => {
    const box = boxes.find((b) => !seen.has(b) && b.clientWidth);
    if (box) show(box).finally(() => idle(next));
    else document.documentElement.dataset.charts = "drawn";
  };
  idle(next);
  let timer;
  addEventListener("resize", () => { clearTimeout(timer); timer = setTimeout(() => seen.forEach(draw), 150); });

  // Theme: the system's until the button is used.
  const button = document.getElementById("theme");
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const root = document.documentElement;
  const now = () => root.dataset.theme || (dark.matches ? "dark" : "light");
  const label = () => { button.textContent = now() === "dark" ? "Light" : "Dark"; button.setAttribute("aria-label", `Switch to the ${button.textContent.toLowerCase()} theme`); };
  try { const kept = localStorage.getItem("rmwbench-theme"); if (kept === "light" || kept === "dark") root.dataset.theme = kept; } catch { /* a file without storage */ }
  button.hidden = false;
  label();
  dark.addEventListener("change", label);
  button.addEventListener("click", () => {
    root.dataset.theme = now() === "dark" ? "light" : "dark";
    try { localStorage.setItem("rmwbench-theme", root.dataset.theme); } catch { /* kept for this visit only */ }
    label();
  });

  // A number opens what it rests on. The content is cloned from the evidence below the charts: one source, text only.
  const dialog = document.getElementById("evidence");
  const body = document.getElementById("evidence-body");
  const make = (tag, text, name) => { const e = document.createElement(tag); if (text !== undefined) e.textContent = text; if (name) e.className = name; return e; };
  function copy(node) {
    const clone = node.cloneNode(true);
    [clone, ...clone.querySelectorAll("[id]")].forEach((e) => e.removeAttribute("id"));
    return clone;
  }
  function open(target) {
    const arm = target.closest("details.arm");
    const row = target.closest("tr[data-metric]");
    const workload = arm.closest(".workload").querySelector("h2").textContent;
    body.replaceChildren();
    body.append(make("p", workload, "eyebrow"));
    const title = make("h2");
    title.id = "evidence-title";
    title.append(copy(arm.querySelector(".swatch")), arm.querySelector(".who").textContent);
    body.append(title);
    if (row) {
      const value = row.querySelector(".value");
      body.append(make("h3", row.querySelector("th").textContent));
      const big = make("p", value.textContent, "big");
      if (value.dataset.tone) big.dataset.tone = value.dataset.tone;
      big.append(" ", make("small", row.querySelector(".interval").textContent));
      body.append(big, make("p", row.querySelector(".basis").textContent, "none"));
      const gloss = document.getElementById(`g-${row.dataset.metric}`);
      if (gloss) body.append(make("p", gloss.querySelector("p").textContent));
      const trials = [...row.querySelectorAll(".trials span")];
      if (trials.length) {
        const table = make("table", undefined, "pertrial");
        const head = table.createTHead().insertRow();
        for (const name of ["trial", "block", "value", ""]) head.append(make("th", name));
        const rows = table.createTBody();
        for (const t of trials) {
          const r = rows.insertRow();
          r.insertCell().textContent = t.dataset.t;
          r.insertCell().textContent = Number(t.dataset.b) + 1;
          r.insertCell().textContent = t.textContent;
          if (t.dataset.w === "") { r.insertCell(); continue; }  // never arrived: no length tells that
          const bar = make("i", undefined, "bar");
          bar.style.width = `${t.dataset.w}%`;
          bar.style.setProperty("--c", arm.querySelector(".swatch").style.getPropertyValue("--c"));
          r.insertCell().append(bar);
        }
        body.append(table);
      }
    }
    body.append(make("h3", row ? "How it was measured" : "Verdict and set-up"), copy(arm.querySelector(".facts")));
    const all = make("a", "All metrics of this arm");
    all.href = `#${arm.id}`;
    body.append(all);
    dialog.showModal();
    dialog.querySelector(".sheet").scrollTop = 0;
  }
  function reveal(hash) {
    const target = hash.length > 1 && document.getElementById(decodeURIComponent(hash.slice(1)));
    for (let e = target; e; e = e.parentElement) if (e.tagName === "DETAILS") e.open = true;
    return target;
  }
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[href^='#']");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const target = link.classList.contains("num") && document.getElementById(link.hash.slice(1));
    if (target && target.closest("details.arm")) {
      event.preventDefault();
      open(target);
    } else {
      if (dialog.open) dialog.close();
      reveal(link.hash);
    }
  });
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
  reveal(location.hash);
})();
