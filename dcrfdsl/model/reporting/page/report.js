// The page's script: colours, the marks of drawings, and the browser of errors. Texts of the data reach the page by
// `textContent` alone, so they stay texts. Without this script everything but the list of errors is there.
"use strict";

(() => {
  const PAGE = 25; // errors shown at once
  const ALL = "";

  const make = (tag, text, kind) => {
    const element = document.createElement(tag);
    if (text !== undefined) element.textContent = text;
    if (kind) element.className = kind;
    return element;
  };

  // colours ---------------------------------------------------------------------------------------------------------

  const theme = document.getElementById("theme");
  const themes = ["system", "light", "dark"];
  theme.hidden = false;
  theme.addEventListener("click", () => {
    const root = document.documentElement;
    const next = themes[(themes.indexOf(root.dataset.theme || "system") + 1) % themes.length];
    root.dataset.theme = next;
    theme.textContent = `Colours: ${next}`;
  });

  // drawings: a pointer, or Tab and the arrow keys, bring up what a mark stands for -----------------------------------

  for (const figure of document.querySelectorAll("figure.graph")) {
    const box = figure.querySelector(".wide");
    const panel = figure.querySelector(".panel");
    const marks = [...figure.querySelectorAll("svg title")].map((title) => title.parentNode);
    let current = -1;
    const show = (number) => {
      if (marks[current]) marks[current].classList.remove("current");
      current = number;
      marks[current].classList.add("current");
      panel.textContent = marks[current].querySelector("title").textContent;
    };
    panel.hidden = false;
    panel.textContent = "Point at a mark, or move with the arrow keys.";
    let place = "";
    const point = (event) => {
      const here = `${event.clientX} ${event.clientY}`;
      const number = marks.indexOf(event.target.closest("g, rect"));
      // a drawing that scrolls under a pointer at rest says nothing: the keys have chosen
      if (number >= 0 && here !== place) show(number);
      place = here;
    };
    box.addEventListener("pointermove", point);
    box.addEventListener("pointerdown", (event) => { place = ""; point(event); });
    box.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step || !marks.length) return;
      event.preventDefault();
      show((current + step + marks.length) % marks.length);
      marks[current].scrollIntoView({ block: "nearest", inline: "center" });
    });
  }

  // the browser of errors -------------------------------------------------------------------------------------------

  const source = document.getElementById("error-data");
  if (!source) return;
  const data = JSON.parse(source.textContent);
  const form = document.getElementById("filters");
  if (!form) return;
  const errors = data.errors.map(([label, sentence, at, gold, predicted, sure, sureGold, why, fresh]) => ({
    label, sentence: data.sentences[sentence], at, gold, predicted, sure, sureGold, why: data.whys[why], fresh,
  }));
  // In a sequence without words neighbours with the same mistake are one item, the most confident one for all.
  const wrongAt = ({ g, p }, label, t, gold, predicted) => g[label][t] === gold && p[label][t] === predicted;
  const seen = new Set();
  const items = errors.filter((e) => {
    const { sentence, label, gold, predicted } = e;
    e.first = e.last = e.at;
    if (sentence.w) return true;
    while (wrongAt(sentence, label, e.first - 1, gold, predicted)) e.first -= 1;
    while (wrongAt(sentence, label, e.last + 1, gold, predicted)) e.last += 1;
    const key = `${sentence.n} ${label} ${e.first}`;
    return !seen.has(key) && seen.add(key);
  });
  const range = (first, last) => (first === last ? `${first + 1}` : `${first + 1}–${last + 1}`);
  // runs of tokens for which all of `parts(t)` stay the same: first and last token, from 0
  const runs = (size, parts) => {
    const found = [];
    for (let t = 0; t < size; t += 1) {
      const key = JSON.stringify(parts(t));
      const before = found.at(-1);
      if (before && before.key === key) before.last = t;
      else found.push({ key, first: t, last: t });
    }
    return found;
  };
  let kept = items;
  let page = 0;

  const text = (label, code) => (code < 0 ? "nothing" : data.labels[label].texts[code]);
  const percent = (thousandths) => (thousandths < 1 ? "<0.1 %" : thousandths > 999 ? ">99.9 %" : `${(thousandths / 10).toFixed(1)} %`);

  const fill = (select, options) => {
    const before = select.value;
    select.replaceChildren(new Option("all", ALL), ...options.map((name) => new Option(name, name)));
    select.value = options.includes(before) ? before : ALL;
  };
  const choices = (field) => {
    const chosen = form.label.value;
    const names = errors.filter((e) => chosen === ALL || data.labels[e.label].name === chosen);
    return [...new Set(names.map((e) => text(e.label, e[field])))].sort();
  };
  const fillStates = () => {
    fill(form.gold, choices("gold"));
    fill(form.predicted, choices("predicted"));
  };

  const orders = {
    sure: () => 0, // as they come
    unsure: (a, b) => a.sure - b.sure,
    data: (a, b) => a.sentence.n - b.sentence.n || a.at - b.at || a.label - b.label,
  };

  const filter = () => {
    const word = form.word.value.toLowerCase();
    const least = 10 * Number(form.least.value || 0);
    kept = items.filter((e) =>
      (form.label.value === ALL || data.labels[e.label].name === form.label.value)
      && (form.gold.value === ALL || text(e.label, e.gold) === form.gold.value)
      && (form.predicted.value === ALL || text(e.label, e.predicted) === form.predicted.value)
      && (!word || (e.sentence.w?.[e.at] ?? "").toLowerCase().includes(word))
      && (!least || e.sure >= least)
      && (!form.explained.checked || e.why)
      && (!form.fresh.checked || e.fresh));
    if (form.order.value !== "sure") kept.sort(orders[form.order.value]);
    page = 0;
    draw();
  };

  const sentenceLine = (error) => {
    const line = make("p", undefined, "sentence");
    const { p, g } = error.sentence;
    const states = p[error.label];
    if (!error.sentence.w) {
      const parts = runs(states.length, (t) => [states[t], g[error.label][t] ?? null]);
      parts.forEach(({ first, last }, n) => {
        if (n) line.append(", ");
        const wrong = g[error.label][first] !== undefined;
        const tag = first === error.first ? "mark" : wrong ? "u" : "bdi";
        line.append(make(tag, `${text(error.label, states[first])} ${range(first, last)}`));
      });
      return line;
    }
    error.sentence.w.forEach((word, t) => {
      if (t) line.append(" ");
      const wrong = error.sentence.g[error.label][t] !== undefined;
      const tag = t === error.at ? "mark" : wrong ? "u" : "bdi";
      const element = make(tag, word);
      element.dir = "auto";
      line.append(element);
    });
    return line;
  };

  const table = (caption, head, rows, words, direction = "auto") => {
    const whole = make("table");
    whole.append(make("caption", caption));
    const top = make("tr");
    head.forEach((name, n) => {
      const cell = make("th", name, words.includes(n) ? "w" : undefined);
      cell.scope = "col";
      top.append(cell);
    });
    whole.append(make("thead"), make("tbody"));
    whole.tHead.append(top);
    for (const row of rows) {
      const line = make("tr", undefined, row.kind);
      row.cells.forEach((cell, n) => {
        const kinds = [words.includes(n) && "w", row.wrong?.[n] && "wrong"].filter(Boolean).join(" ");
        const element = make("td", undefined, kinds || undefined);
        const inner = make("bdi", cell);
        inner.dir = direction;
        element.append(inner);
        line.append(element);
      });
      whole.tBodies[0].append(line);
    }
    const box = make("div", undefined, "wide");
    box.tabIndex = 0;
    box.setAttribute("role", "region");
    box.setAttribute("aria-label", caption);
    box.append(whole);
    return box;
  };

  const nats = (score) => (score > 0 ? "+" : "") + score.toFixed(2);

  const prose = (line) => {
    const whole = make("p");
    const sentence = line.charAt(0).toUpperCase() + line.slice(1);
    sentence.split("`").forEach((part, n) => whole.append(n % 2 ? make("code", part) : part));
    return whole;
  };

  const whyPart = (why, error) => {
    const predicted = text(error.label, error.predicted);
    const rows = why.terms.map(([score, clique, at, states, feature]) => (
      { cells: [nats(score), feature, states, clique, at], kind: score > 0 ? "for" : "against" }));
    if (why.left[0]) rows.push({ cells: [nats(why.left[1]), `${why.left[0]} more`, "", "", ""] });
    rows.push({ cells: [nats(why.margin), "in all", "", "", ""], kind: "sum" });
    const head = ["nats", "feature", "states", "clique", "at"];
    const title = `Why ${predicted} and not ${why.against}`;
    return [
      ...(why.terms.length ? [table(title, head, rows, [1, 2, 3], "ltr")] : [make("p", title)]),
      ...why.lines.map(prose),
    ];
  };

  const labelsPart = (error) => {
    const { w, p, g } = error.sentence;
    const places = w ? w.map((_, t) => ({ first: t, last: t }))
      : runs(p[0].length, (t) => data.labels.map((_, y) => [p[y][t], g[y][t] ?? null]));
    const before = (first, last) => [range(first, last), ...(w ? [w[first]] : [])];
    const rows = places.map(({ first, last }) => ({
      cells: [...before(first, last), ...data.labels.flatMap((_, y) => {
        const wrong = g[y][first] !== undefined;
        return [text(y, p[y][first]), wrong ? text(y, g[y][first]) : ""];
      })],
      wrong: [...before(first, last).map(() => false),
        ...data.labels.flatMap((_, y) => [g[y][first] !== undefined, false])],
    }));
    const head = [w ? "" : "tokens", ...(w ? ["word"] : []), ...data.labels.flatMap(({ name }) => [name, "gold, where it differs"])];
    return table("The sentence with its labels", head, rows, head.map((_, n) => n).slice(1));
  };

  const item = (error) => {
    const { n, line, w } = error.sentence;
    const whole = make("li");
    const title = make("p", undefined, "title");
    const name = data.labels[error.label].name;
    const word = make("strong", w ? w[error.at] : range(error.first, error.last));
    word.dir = "auto";
    title.append(word, ` ${name}: `, make("del", text(error.label, error.predicted)));
    title.append(error.sure < 0 ? "" : ` (${percent(error.sure)})`, ", gold ", make("ins", text(error.label, error.gold)));
    title.append(error.sureGold < 0 ? "" : ` (${percent(error.sureGold)})`);
    const place = make("span", `sentence ${n}, token ${range(error.first, error.last)}, line ${line}${error.fresh ? ", new word" : ""}`, "place");
    const more = make("details");
    more.append(make("summary", error.why ? "Why, and the whole sentence" : "The whole sentence"));
    more.addEventListener("toggle", () => {
      if (more.childElementCount === 1) more.append(...(error.why ? whyPart(error.why, error) : []), labelsPart(error));
    });
    whole.append(title, sentenceLine(error), place, more);
    return whole;
  };

  const draw = () => {
    const pages = Math.max(1, Math.ceil(kept.length / PAGE));
    const list = document.getElementById("errors-list");
    list.start = page * PAGE + 1;
    list.replaceChildren(...kept.slice(page * PAGE, (page + 1) * PAGE).map(item));
    const few = kept.length === 1 ? "1 error" : `${kept.length.toLocaleString("en")} errors`;
    document.getElementById("count").textContent = `${few} of ${items.length.toLocaleString("en")}`;
    document.getElementById("page-number").textContent = `${page + 1} of ${pages}`;
    document.getElementById("before").disabled = page === 0;
    document.getElementById("after").disabled = page + 1 >= pages;
    document.getElementById("pager").hidden = pages === 1;
  };
  const turn = (step) => {
    page += step;
    draw();
    document.getElementById("count").scrollIntoView({ block: "start" });
  };

  fill(form.label, data.labels.map(({ name }) => name));
  form.label.parentElement.hidden = data.labels.length < 2;
  document.getElementById("only-new").hidden = !errors.some((e) => e.fresh);
  fillStates();
  form.hidden = false;
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", (event) => {
    if (event.target === form.label) fillStates();
    filter();
  });
  form.addEventListener("reset", () => setTimeout(() => { fillStates(); filter(); }));
  document.getElementById("before").addEventListener("click", () => turn(-1));
  document.getElementById("after").addEventListener("click", () => turn(1));
  filter();
})();
