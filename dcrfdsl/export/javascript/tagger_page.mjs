// The page: a box for a text, and below it the labels of each sentence with their probabilities.
//
// A model of one column reads running text, a sentence a line; a model of several columns reads a token a line, and a
// blank line between sentences. The address may hold a text: page.html#9 Bath Lane. Every text is set as text, never as
// HTML.

const HUES = 6; // colours of labels in the style sheet; with more labels they repeat
const SURE = 0.5; // a label below this probability is drawn as unsure
const PAUSE = 150; // milliseconds behind the last key until the text is tagged

function element(name, classes, ...children) {
  const made = document.createElement(name);
  made.className = classes;
  made.append(...children);
  return made;
}

function percent(probability) {
  return `${(100 * probability).toFixed(probability > 0.9995 ? 0 : 1)} %`;
}

/** The name and probability of a label, behind what it marks. */
function caption(name, probability) {
  return element("small", "", element("b", "", name), ` ${percent(probability)}`);
}

function hueOf(names, name, probability) {
  return `h${names.indexOf(name) % HUES}${probability < SURE ? " unsure" : ""}`;
}

/** The sentences of a text: of each the tokens, as the tagger takes them, and as texts with the gaps before them. */
function sentencesOf(tagger, text) {
  if (tagger.columns.length > 1) {
    const blocks = text.split(/\n[ \t\r]*\n/).map((block) => block.split("\n").filter((line) => line.trim()));
    return blocks.filter((lines) => lines.length).map((lines) => {
      const { separator = null } = tagger.data;
      const tokens = lines.map((line) => (separator === null ? partsOf(line) : line.split(separator)));
      return { tokens, shown: tokens.map((cells) => ({ text: cells[0], gap: " " })) };
    });
  }
  const lines = tagger.data.format === "spans" ? [text] : text.split("\n");
  return lines.map((line) => {
    const found = tagger.tokenize(line);
    const shown = found.map((one, n) => ({ text: one.text, gap: line.slice(n ? found[n - 1].end : 0, one.start) }));
    return { tokens: found.map((one) => one.text), shown };
  }).filter((one) => one.tokens.length);
}

/** The segments of a label in a sentence, marked. */
function markedSegments(tagger, name, shown, segments) {
  const types = [...new Set(tagger._marks.get(name).map(([, type]) => type).filter(Boolean))];
  const line = element("p", "sentence");
  const textOf = (first, last) => shown.slice(first, last + 1).map((one, n) => (n ? one.gap : "") + one.text).join("");
  let at = 0;
  const plain = (end) => {
    if (end > at) line.append((at ? shown[at].gap : "") + textOf(at, end - 1));
    at = end;
  };
  for (const { type, first, last, probability } of segments) {
    plain(first);
    if (first) line.append(shown[first].gap);
    const mark = element("mark", hueOf(types, type, probability), textOf(first, last), caption(type, probability));
    line.append(mark);
    at = last + 1;
  }
  plain(shown.length);
  return line;
}

/** Each token of a sentence with its state. */
function markedTokens(tagger, name, shown, states, rows) {
  const line = element("p", "sentence");
  states.forEach((state, t) => {
    const probability = rows[t][tagger.states[name].indexOf(state)];
    line.append(element("span", `token ${hueOf(tagger.states[name], state, probability)}`, shown[t].text, caption(state, probability)), " ");
  });
  return line;
}

function resultOf(tagger, { tokens, shown }) {
  const labels = tagger.tagged(tokens);
  if (labels === null) return [element("p", "sentence", "No labelling is possible for this sentence.")];
  const [tables, spans] = [tagger.marginals(tokens), tagger.spans(tokens)];
  return tagger.labels.map((name) => {
    const line =
      name in spans
        ? markedSegments(tagger, name, shown, spans[name])
        : markedTokens(tagger, name, shown, labels[name], tables[name]);
    if (tagger.labels.length > 1) line.prepend(element("span", "chance", `${name}: `));
    return line;
  });
}

function openPage() {
  const tagger = new Tagger();
  const [box, note, error, results] = ["text", "note", "error", "results"].map((id) => document.getElementById(id));
  const cells = tagger.columns.join(" ");
  const isText = tagger.data.format === "spans";
  note.textContent =
    tagger.columns.length > 1
      ? `One token a line: ${cells}. A blank line ends a sentence.`
      : isText ? "Running text." : "A line is a sentence. Punctuation is a token by itself.";
  const tagText = () => {
    error.hidden = true;
    try {
      results.replaceChildren(...sentencesOf(tagger, box.value).flatMap((one) => resultOf(tagger, one)));
    } catch (problem) {
      if (!(problem instanceof TaggerError)) throw problem;
      error.textContent = problem.message;
      error.hidden = false;
      results.replaceChildren();
    }
  };
  let waiting;
  box.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(tagText, PAUSE);
  });
  const readAddress = () => {
    if (location.hash.length < 2) return;
    try {
      box.value = decodeURIComponent(location.hash.slice(1));
    } catch {
      return; // no text in percent signs
    }
    tagText();
  };
  addEventListener("hashchange", readAddress);
  readAddress();
}

queueMicrotask(openPage); // when the model, which stands below, is there
