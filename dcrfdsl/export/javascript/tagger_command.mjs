// The command line, where Node or Deno run this file: text in, the same text with labels out.
//
// node tagger.mjs < data.txt
// node tagger.mjs --marginals data.txt more.txt
//
// A column file has a token a line and a blank line after each sentence; labels become further columns. A line of JSON
// is a sentence; labels become its key `predicted`.

const SMALLEST = 5e-5; // a probability below this would read 0.0000
const BLOCK = 1 << 16; // bytes that are read at once
const USAGE = `usage: node FILE [--marginals] [--given] [--json] [--jsonl] [FILE ...]

Tag text: the input comes out again with the predicted labels. Without FILE, or with -, it is read from stdin.

  --marginals  one more column a label: STATE:PROBABILITY;…
  --given      keep to the labels of the input; _ is free
  --json       print a line of JSON for each sentence
  --jsonl      read JSON lines, whatever the model was trained on
`;

/** The exit code: 0 done, 1 unusable input, 2 wrong usage. */
async function main(given) {
  const fs = await import("node:fs");
  const [stdout, stderr] = [(text) => writeWhole(fs, 1, text), (text) => writeWhole(fs, 2, text)];
  const options = { files: [], marginals: false, given: false, json: false, jsonl: false };
  for (const argument of given) {
    const name = argument.slice(2);
    if (argument === "--help" || argument === "-h") {
      stdout(USAGE);
      return 0;
    }
    if (argument.startsWith("--") && options[name] === false) options[name] = true;
    else if (argument.startsWith("-") && argument !== "-") {
      stderr(`error: there is no option \`${argument}\`\n\n${USAGE}`);
      return 2;
    } else options.files.push(argument);
  }
  try {
    const tagger = new Tagger();
    let done = 0;
    for (const file of options.files.length ? options.files : ["-"]) {
      const form = formOf(tagger, options);
      for (const block of blocksOf(fs, file, form)) {
        stdout(block.first === 1 && block.marked ? `\ufeff${answer(tagger, form, block, options, done)}` : answer(tagger, form, block, options, done));
        done += block.sentences.length;
      }
    }
  } catch (error) {
    if (error.code === "EPIPE") return 0; // the reader, such as `head`, has enough
    if (!(error instanceof TaggerError) && error.code === undefined) throw error;
    stderr(`error: ${error.message}\n`);
    return 1;
  }
  return 0;
}

/** Writes all of a text. A pipe that does not block says EAGAIN where it is full. */
function writeWhole(fs, file, text) {
  const bytes = new TextEncoder().encode(text);
  for (let at = 0; at < bytes.length; ) {
    try {
      at += fs.writeSync(file, bytes, at);
    } catch (error) {
      if (error.code !== "EAGAIN") throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
    }
  }
}

// files --------------------------------------------------------------------------------------------------------------

/** Blocks of whole sentences: what another program has written so far is one, as it may be waiting for the answer. */
function* blocksOf(fs, file, form) {
  const shownAs = file === "-" ? "<stdin>" : file;
  const stream = file === "-" ? 0 : fs.openSync(file, "r");
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  const buffer = new Uint8Array(BLOCK);
  let [rest, first] = ["", 1];
  for (let open = true; open; ) {
    let count;
    try {
      count = fs.readSync(stream, buffer, 0, BLOCK, null);
    } catch (error) {
      if (error.code === "EAGAIN") {
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
        continue;
      }
      if (error.code !== "EOF") throw error;
      count = 0;
    }
    open = count > 0;
    try {
      rest += decoder.decode(buffer.subarray(0, count), { stream: open });
    } catch {
      throw new TaggerError(`${shownAs}: the file is not UTF-8 behind line ${first + rest.split("\n").length - 1}`);
    }
    if (rest.includes("\0")) {
      const line = first + rest.slice(0, rest.indexOf("\0")).split("\n").length - 1;
      throw new TaggerError(`${shownAs}:${line}: byte 0x00, so that this is no text`);
    }
    const end = open ? form.end(rest) : rest.length;
    if (end > 0) {
      const marked = first === 1 && rest.startsWith("\ufeff");
      const lines = rest.slice(marked ? 1 : 0, end).split("\n");
      try {
        yield { file: shownAs, lines, first, marked, ...form.read(lines, first) };
      } catch (error) {
        if (error instanceof TaggerError) error.message = `${shownAs}:${error.message}`;
        throw error;
      }
      first += lines.length - 1;
      rest = rest.slice(end);
    }
  }
  if (stream !== 0) fs.closeSync(stream);
}

function formOf(tagger, options) {
  const kind = options.jsonl ? "jsonl" : tagger.data.format;
  if (!(kind in FORMS)) {
    throw new TaggerError(`this program reads ${Object.keys(FORMS).join(", ")}, and the model was made for \`${kind}\`: use --jsonl`);
  }
  return FORMS[kind](tagger, options);
}

/** What is printed for a block. */
function answer(tagger, form, block, options, done) {
  const tagged = block.sentences.map((sentence, n) => {
    const given = options.given ? knownIn(tagger, sentence, block.file) : null;
    const names = tagger.labels.map((name) => [name, Array(block.places[n].length).fill(NO_LABEL)]);
    const labels = tagger.tagged(sentence, given) ?? Object.fromEntries(names);
    return { labels, tables: options.marginals ? tagger.marginals(sentence, given) : null };
  });
  if (!options.json) return form.written(block, tagged.map((one) => withDistributions(tagger, one)));
  const lines = tagged.map(({ labels, tables }, n) => {
    const line = block.first + block.places[n][0];
    const record = { file: block.file, line, sentence: done + n + 1, labels };
    if (tables !== null) {
      const distribution = (name, row) =>
        Number.isNaN(row[0]) ? null : Object.fromEntries(row.map((number, state) => [tagger.states[name][state], number]));
      const byLabel = tagger.labels.map((name) => [name, tables[name].map((row) => distribution(name, row))]);
      record.marginals = Object.fromEntries(byLabel);
    }
    return `${spacedJson(record)}\n`;
  });
  return lines.join("");
}

function knownIn(tagger, sentence, file) {
  const lacking = tagger._labels.some((label) => !has(sentence, sourceOf(tagger, label.name)));
  if (lacking) {
    throw new TaggerError(`${file}: \`--given\` needs the labels ${tagger.labels.map((name) => `\`${name}\``).join(", ")}`);
  }
  return Object.fromEntries(tagger.labels.map((name) => [name, valueOf(sentence, sourceOf(tagger, name))]));
}

function sourceOf(tagger, name) {
  return tagger._columns.find((column) => column.name === name)?.source ?? name;
}

/** Labels with `STATE:PROBABILITY;…` at each token, likeliest first, as further columns. */
function withDistributions(tagger, { labels, tables }) {
  if (tables === null) return labels;
  const columns = { ...labels };
  for (const name of tagger.labels) {
    const states = tagger.states[name];
    columns[`${name}_marginals`] = tables[name].map((row) => {
      const ranked = row.map((number, state) => [number, state]).sort((one, other) => other[0] - one[0]);
      const likely = ranked.filter(([number]) => number >= SMALLEST);
      return likely.map(([number, state]) => `${states[state]}:${fixed4(number)}`).join(";") || NO_LABEL;
    });
  }
  return columns;
}

/** Four decimals, halves to even. */
function fixed4(number) {
  const units = number * 1e4;
  const isHalf = units % 1 === 0.5;
  return isHalf ? ((Math.floor(units) + (Math.floor(units) % 2)) / 1e4).toFixed(4) : number.toFixed(4);
}

// column files -------------------------------------------------------------------------------------------------------

/** A token a line. */
function columnForm(tagger, options) {
  const { separator = null, comment = null } = tagger.data;
  const unlabelled = tagger._columns.filter((column) => !tagger.labels.includes(column.name));
  const layouts = options.given ? [tagger._columns] : [tagger._columns, unlabelled];
  let layout; // as the first line decides
  const cellsOf = (line, number) => {
    const cells = separator === null ? partsOf(line) : line.replace(/\r$/, "").split(separator);
    const counted = `${number}: ${cells.length} column${cells.length === 1 ? "" : "s"}`;
    const described = (one) => `${one.length} (\`${one.map((column) => column.name).join(" ")}\`)`;
    layout ??= layouts.find((one) => one.length === cells.length);
    if (layout === undefined) throw new TaggerError(`${counted}, expected ${layouts.filter((one) => one.length).map(described).join(" or ")}`);
    if (cells.length !== layout.length) throw new TaggerError(`${counted}, expected ${described(layout)}`);
    return cells;
  };
  return {
    end: (text) => {
      const blank = /\n[ \t\r\v\f]*\n/g;
      let end = 0;
      while (blank.exec(text) !== null) {
        end = blank.lastIndex;
        blank.lastIndex -= 1; // the second line feed may begin another blank line
      }
      return end;
    },
    read: (lines, first) => {
      const [sentences, places] = [[], []];
      let [cells, at] = [[], []];
      lines.forEach((line, n) => {
        if (comment && line.startsWith(comment)) return;
        const blank = !partsOf(line).length;
        if (!blank) {
          cells.push(cellsOf(line, n + first));
          at.push(n);
        }
        if (cells.length && (blank || n === lines.length - 1)) {
          const [rows, named] = [cells, layout.map((column, m) => [column.source, m])];
          const sentence = new Map(named.map(([source, m]) => [source, rows.map((row) => row[m])]));
          checkedAt(sentence, tagger, at[0] + first);
          sentences.push(sentence);
          places.push(at);
          [cells, at] = [[], []];
        }
      });
      return { sentences, places };
    },
    written: ({ lines, places }, tagged) => {
      const out = [...lines];
      const begin = places.length ? places[0][0] : 0;
      const between = separator ?? (lines[begin].includes("\t") ? "\t" : " ");
      places.forEach((at, s) => {
        const columns = Object.values(tagged[s]);
        at.forEach((n, t) => {
          const ending = out[n].endsWith("\r") ? "\r" : "";
          const body = separator === null ? out[n].replace(/[ \t\r\v\f\n]+$/, "") : out[n].replace(/\r+$/, "");
          out[n] = body + columns.map((cells) => between + cells[t]).join("") + ending;
        });
      });
      return out.join("\n");
    },
  };
}

function checkedAt(sentence, tagger, line) {
  try {
    return columnsOf(sentence, tagger._columns, tagger.labels);
  } catch (error) {
    if (error instanceof TaggerError) error.message = `${line}: ${error.message}`;
    throw error;
  }
}

// JSON lines ---------------------------------------------------------------------------------------------------------

/** A sentence a line: an object of lists, or a list of tokens. */
function jsonForm(tagger) {
  const decoded = (line, number) => {
    try {
      return JSON.parse(line);
    } catch (error) {
      throw new TaggerError(`${number}: not JSON: ${error.message}`);
    }
  };
  return {
    end: (text) => text.lastIndexOf("\n") + 1,
    read: (lines, first) => {
      const [sentences, places] = [[], []];
      lines.forEach((line, n) => {
        if (!line.trim()) return;
        const sentence = decoded(line, n + first);
        const columns = checkedAt(sentence, tagger, n + first);
        const length = columns.size ? columns.values().next().value.length : 0;
        if (!length) return;
        sentences.push(isList(sentence) ? columnsAgain(columns, tagger) : sentence);
        places.push(Array(length).fill(n));
      });
      return { sentences, places };
    },
    written: ({ lines, places }, tagged) => {
      const ofLine = new Map(places.map((at, s) => [at[0], tagged[s]]));
      const empty = Object.fromEntries(Object.keys(tagged[0] ?? {}).map((name) => [name, []]));
      return lines
        .map((line, n) => {
          if (!line.trim()) return line;
          const text = spacedJson(withLabels(JSON.parse(line), ofLine.get(n) ?? empty));
          return line.endsWith("\r") ? `${text}\r` : text;
        })
        .join("\n");
    },
  };
}

/** Checked columns as a sentence that can be checked again. */
function columnsAgain(columns, tagger) {
  return new Map([...columns].map(([name, values]) => [sourceOf(tagger, name), values.map((value) => (Array.isArray(value) && Array.isArray(value[0]) ? new Map(value) : value))]));
}

function withLabels(sentence, predicted) {
  if (!isList(sentence)) return { ...sentence, predicted };
  return sentence.map((token, t) => {
    const labels = Object.entries(predicted).map(([name, values]) => [name, values[t]]);
    if (isMapping(token)) return { ...token, predicted: Object.fromEntries(labels) };
    return [...(typeof token === "string" ? [token] : token), ...labels.map(([, value]) => value)];
  });
}

/** JSON in one line, with a space behind `,` and `:`. */
function spacedJson(value) {
  if (Array.isArray(value)) return `[${value.map(spacedJson).join(", ")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  return `{${Object.entries(value).map(([name, inner]) => `${JSON.stringify(name)}: ${spacedJson(inner)}`).join(", ")}}`;
}

const FORMS = { conll: columnForm, jsonl: jsonForm };

// Node or Deno with this very file: a browser has no `process`, and a program that imports the file another name.
if (globalThis.process?.argv?.[1] !== undefined && import.meta.url?.startsWith("file:")) {
  const { argv, exit } = globalThis.process;
  Promise.all([import("node:fs"), import("node:url")]).then(async ([fs, url]) => {
    const run = fs.existsSync(argv[1]) && fs.realpathSync(argv[1]);
    if (run && run === fs.realpathSync(url.fileURLToPath(import.meta.url))) exit(await main(argv.slice(2)));
  });
}
