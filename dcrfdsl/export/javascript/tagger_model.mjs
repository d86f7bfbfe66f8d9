// `Tagger`: the model of this file, which labels sentences and texts and gives their probabilities.
//
// The model is a description of cliques, features and columns, all texts, and a few long arrays that its parts take their
// numbers from, one after another.

const FORMAT = 2;
const NO_LABEL = "_"; // of a sentence that no labelling is possible for
const NUMERIC = ["float", "int"];
const MOST_POSITIONS = 50_000; // of all lengths whose steps are kept
const KINDS = { u1: Uint8Array, u2: Uint16Array, u4: Uint32Array, f2: Uint16Array, f4: Float32Array, f8: Float64Array };

/** The bytes of a text in base64. */
function bytesOf(base64) {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let n = 0; n < bytes.length; n++) bytes[n] = text.charCodeAt(n);
  return bytes;
}

/** A number of 16 bits, sign · 2^exponent · fraction, as JavaScript has no arrays of them everywhere. */
function fromHalf(bits) {
  const [sign, exponent, fraction] = [bits & 0x8000 ? -1 : 1, (bits >> 10) & 31, bits & 1023];
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (1024 + fraction) * 2 ** (exponent - 25);
}

/** The arrays of a model, from which parts are cut off in the order in which they were written. */
class Cut {
  constructor(model) {
    const { description, texts, arrays } = typeof model === "string" ? JSON.parse(model) : model;
    if (description.format !== FORMAT) throw new TaggerError("the model belongs to another version of this program");
    this.description = description;
    this.texts = texts;
    this.arrays = Object.fromEntries(
      Object.entries(arrays).map(([name, [kind, data]]) => {
        const numbers = new KINDS[kind](bytesOf(data).buffer);
        return [name, kind === "f2" ? Float64Array.from(numbers, fromHalf) : numbers];
      }),
    );
    this.at = {};
  }

  /** The next `count` numbers of an array. */
  next(name, count) {
    const start = this.at[name] ?? 0;
    this.at[name] = start + count;
    const numbers = this.arrays[name].subarray(start, start + count);
    if (numbers.length < count) throw new TaggerError(`the model is damaged: \`${name}\` is too short`);
    return numbers;
  }

  nextTexts(count) {
    const start = this.at.texts ?? 0;
    this.at.texts = start + count;
    return this.texts.slice(start, start + count);
  }

  /** Sorted keys, which the model holds as differences. */
  nextKeys(name, count) {
    let key = 0;
    return Float64Array.from(this.next(name, count), (difference) => (key += difference));
  }
}

/** A tagger. `new Tagger()` has the model of this file. */
export class Tagger {
  constructor(model = MODEL) {
    let cut;
    try {
      cut = new Cut(model);
      this._read(cut, cut.description);
    } catch (error) {
      if (error instanceof TaggerError) throw error;
      throw new TaggerError(`the model is damaged: ${error.message}`);
    }
  }

  _read(cut, description) {
    this.data = description.data;
    this._columns = description.columns;
    this._labels = description.labels;
    this.labels = this._labels.map((label) => label.name);
    this.states = Object.fromEntries(this._labels.map((label) => [label.name, label.states]));
    this.columns = this._columns.map((column) => column.name).filter((name) => !this.labels.includes(name));
    this._marks = new Map(Object.entries(description.marks));
    this._schemes = new Map(Object.entries(description.schemes));
    this._decode = description.decode;
    this._temperature = description.temperature;
    this._cards = description.cards;
    this._order = description.order;
    this._latents = new Set(description.latents);
    this._whole = new Set(description.whole);
    this._leaves = description.leaves;
    const folded = foldedBy(description.folded);
    this._lexicons = new Map();
    for (const [name, [count, hasValues, ignoresCase]] of Object.entries(description.lexicons)) {
      const entries = cut.nextTexts(count);
      const values = hasValues ? cut.nextTexts(count) : entries.map(() => "");
      const paired = entries.map((entry, n) => [entry, values[n]]);
      this._lexicons.set(name, new Lexicon(paired, ignoresCase ? folded : (text) => text));
    }
    const vocabularies = description.vocabularies.map(
      (count) => new Map(cut.nextTexts(count).map((text, code) => [text, code])),
    );
    this._atoms = description.atoms.map((node) => ATOMS[node[0]](node, this._lexicons, vocabularies));
    this._sets = description.sets.map((one) => featureSet(cut, one));
    this._parts = [];
    for (const part of description.cliques) this._parts.push(this._part(cut, part));
    this._programs = new Map();
  }

  _part(cut, part) {
    const cards = part.variables.map((variable) => this._cards[variable]);
    const kinds = part.kinds.map((kind) => {
      const size = cards.reduce((product, card, n) => (kind.pattern[n] ? product : product * card), 1);
      const table = Float64Array.from(cut.next("tables", size));
      return { pattern: kind.pattern.join(), table, cells: kind.mapped ? cut.next("maps", size) : null };
    });
    let [weights, firstRow, allowed] = [null, null, null];
    if (part.set !== null && part.segment > 1) { // segments of all lengths have the same weights
      weights = this._parts[this._parts.length - 1].weights;
      firstRow = 0;
    } else if (part.set !== null) {
      const { count, pads } = this._sets[part.set];
      const off = new Uint32Array(count + 1);
      cut.next("runs", count).forEach((run, n) => (off[n + 1] = off[n] + run));
      const [cell, weight] = [cut.next("cells", off[count]), cut.next("weights", off[count])];
      weights = new Weights(off, cell, weight, part.assignments);
      firstRow = pads[0];
    }
    if (part.codes) {
      const size = part.codes * part.assignments;
      allowed = part.priced
        ? Float64Array.from(cut.next("prices", size))
        : Float64Array.from(cut.next("allowed", size), (is) => (is ? 0 : -Infinity));
      firstRow = 0;
    }
    const observations = (written) => written.map(([node, count]) => [observationOf(node, this._lexicons), count]);
    const given = part.given.map(([column, factor, tests]) => [column, factor, observations(tests)]);
    if (given.length) firstRow = 0;
    const clique = {
      variables: part.variables,
      offsets: part.offsets,
      padded: part.padded,
      position: part.position,
      firstRow,
    };
    const { set, segment, codes } = part;
    return { clique, set, segment, weights, kinds, codes, observed: observations(part.observed), allowed, given };
  }

  // sentences --------------------------------------------------------------------------------------------------------

  /**
   * The best labels of a sentence: a list with a state for each token, or an object of such lists by label if there are
   * several labels.
   *
   * tokens: a list with an object or a list a token (a text, if the model has one column), or an object of columns.
   * given: labels known beforehand, a list or by label; null or `_` for a token that is free.
   *
   * Throws a TaggerError for input that does not fit, or if no labelling is possible.
   */
  tag(tokens, given) {
    const labels = this.tagged(tokens, given);
    if (labels === null) throw new TaggerError("no labelling is possible for the sentence");
    return this.labels.length === 1 ? labels[this.labels[0]] : labels;
  }

  /** The best labels of a sentence by label, or null if no labelling is possible. */
  tagged(tokens, given) {
    return this._labelled(this._prepared(tokens, given));
  }

  /**
   * The probability of each state at each token: of each label a list of rows, in the order of `states`.
   *
   * Arguments as in `tag`. NaN if no labelling is possible.
   */
  marginals(tokens, given) {
    return this._probabilities(this._prepared(tokens, given)).byLabel;
  }

  /** The best labels by label, and the probability of this labelling, all labels together, from 0 to 1. */
  best(tokens, given) {
    const sentence = this._prepared(tokens, given);
    const labels = this._labelled(sentence);
    if (labels === null) throw new TaggerError("no labelling is possible for the sentence");
    if (!sentence.length) return { labels, probability: 1 };
    const allowed = this._labels.map((label) => labels[label.name].map((state) => [label.states.indexOf(state)]));
    for (const m of this._whole) allowed[m]?.fill(NONE, 1);
    const both = sentence.known.map((table, m) => restricted(table, allowed[m], this._labels[m].states.length));
    return { labels, probability: Math.exp(this._logPartition(sentence, both) - this._logPartition(sentence)) };
  }

  /**
   * The segments of the best labels, of each label with segments a list of { type, first, last, probability }.
   *
   * first, last: tokens, from 0, both included.   probability: that exactly this segment is there.
   */
  spans(tokens, given) {
    const sentence = this._prepared(tokens, given);
    const labels = this._labelled(sentence);
    if (labels === null) throw new TaggerError("no labelling is possible for the sentence");
    const whole = sentence.length ? this._logPartition(sentence) : 0;
    const names = this.labels.filter((name) => this._marks.has(name));
    return Object.fromEntries(
      names.map((name) => {
        const segments = segmentsOf(labels[name].map((state) => this._markOf(name, state)));
        return [name, segments.map((one) => ({ ...one, probability: this._sureness(sentence, name, one, whole) }))];
      }),
    );
  }

  _markOf(name, state) {
    return this._marks.get(name)[this.states[name].indexOf(state)];
  }

  /** The probability that a segment is there: that of its states, and of none behind it that goes on with it. */
  _sureness(sentence, name, { type, first, last }, whole) {
    const number = this.labels.indexOf(name);
    const marks = this._marks.get(name);
    const states = (test) => marks.flatMap(([mark, kind], state) => (test(mark, kind === type) ? [state] : []));
    const sum = (begin, before) => {
      const cells = Array(sentence.length).fill(NONE);
      for (let t = first; t <= last; t++) {
        const ends = marks.some(([mark]) => mark === "S");
        const wanted = t === first ? (ends && first === last ? "S" : begin) : ends && t === last ? "E" : "I";
        cells[t] = states((mark, same) => same && mark === wanted);
      }
      if (last + 1 < sentence.length) cells[last + 1] = states((mark, same) => !(same && (mark === "I" || mark === "E")));
      if (before && first > 0) cells[first - 1] = states((mark, same) => !same);
      if (cells.slice(first, last + 1).some((cell) => !cell.length)) return 0;
      const known = [...sentence.known];
      known[number] = restricted(known[number], cells, marks.length);
      return Math.exp(this._logPartition(sentence, known) - whole);
    };
    // In IOB1 a segment begins with I-X behind anything but type X, and with B-X behind that.
    return sum("B", false) + (this._iob1(name) ? sum("I", true) : 0);
  }

  _iob1(name) {
    return this._schemes.get(name) === "iob1";
  }

  /** The tokens of a text: where each one starts and ends, which is excluded, in units of JavaScript's texts. */
  tokenize(text) {
    if (typeof text !== "string") throw new TaggerError(`found ${shown(text)}, expected a text`);
    const pattern = TOKENIZERS[this.data.format === "spans" ? (this.data.tokenizer ?? "words") : "words"];
    if (pattern === undefined) throw new TaggerError("the model was made for tokens that its data give: use `spans`");
    return [...text.matchAll(pattern)].map((match) => ({
      text: match[0],
      start: match.index,
      end: match.index + match[0].length,
    }));
  }

  /**
   * The segments of a text: a list of { type, text, start, end, probability, label }, from left to right.
   *
   * start, end: units of JavaScript's texts, so that `text === whole.slice(start, end)`.
   */
  annotate(text) {
    if (this.columns.length !== 1) {
      throw new TaggerError(`the model reads ${this.columns.map((name) => `\`${name}\``).join(", ")}: use \`spans\``);
    }
    const tokens = this.tokenize(text);
    const found = Object.entries(this.spans(tokens.map((token) => token.text)));
    const placed = found.flatMap(([label, segments]) =>
      segments.map(({ type, first, last, probability }) => {
        const [start, end] = [tokens[first].start, tokens[last].end];
        return { type, text: text.slice(start, end), start, end, probability, label };
      }),
    );
    return placed.sort((one, other) => one.start - other.start || other.end - one.end);
  }

  /** A sentence whose columns are checked, with what is known of its labels: of each label a table, or null. */
  _prepared(tokens, given) {
    const columns = columnsOf(tokens, this._columns, this.labels);
    const length = columns.size ? columns.values().next().value.length : 0;
    for (const { name, type } of this._columns) {
      if (columns.has(name) && NUMERIC.includes(type)) columns.set(name, Float64Array.from(columns.get(name)));
    }
    const sentence = new Sentence(length, columns, this._leaves, this._lexicons);
    sentence.known = this._known(given, length);
    return sentence;
  }

  _known(given, length) {
    if (given === null || given === undefined) return this._labels.map(() => null);
    if (!isList(given) && !isMapping(given)) throw new TaggerError(`found ${shown(given)}, expected known labels`);
    if (isList(given) && this.labels.length > 1) {
      throw new TaggerError("the model has several labels, and `given` is one list: give an object of lists by label");
    }
    return this._labels.map((label, m) => {
      const cells = isList(given) ? given : has(given, label.name) ? valueOf(given, label.name) : null;
      if (cells === null || cells === undefined) return null;
      if (!isList(cells)) throw new TaggerError(`found ${shown(cells)}, expected a list of known labels`);
      if (cells.length !== length) {
        throw new TaggerError(`${cells.length} known values of \`${label.name}\` for ${length} tokens`);
      }
      const allowed = Array.from(cells, (cell) => allowedStates(label, cell));
      if (this._whole.has(m) && length) { // the first cell that says something counts
        allowed.fill(allowed.find((one) => one.length) ?? NONE, 0, 1).fill(NONE, 1);
      }
      return restricted(null, allowed, label.states.length);
    });
  }

  // inference --------------------------------------------------------------------------------------------------------

  /** The steps for sentences of a length. Latent variables come first where the best labels are asked for. */
  _program(length, known, latentsFirst) {
    const name = `${length} ${known} ${latentsFirst}`;
    if (!this._programs.has(name)) {
      const kept = [...this._programs.keys()].reduce((sum, one) => sum + parseInt(one, 10), length);
      if (kept > MOST_POSITIONS) this._programs.clear();
      const width = this._cards.length;
      let order = Array.from({ length }, (_, t) => this._order.map((m) => t * width + m)).flat();
      if (latentsFirst) {
        const isLatent = (variable) => this._latents.has(variable % width);
        order = [...order.filter(isLatent), ...order.filter((variable) => !isLatent(variable))];
      }
      order.push(...this._whole);
      let number = 0;
      const cliques = this._parts.map((part) => ({
        ...part.clique,
        kinds: new Map(part.kinds.map((kind) => [kind.pattern, number++])),
      }));
      const labels = known.split(",").map(Number);
      labels.forEach((is, m) => {
        if (is) {
          const kinds = new Map([["0", number++]]);
          cliques.push({ variables: [m], offsets: [0], padded: false, position: null, firstRow: 0, kinds });
        }
      });
      this._programs.set(name, programFor(length, cliques, this._cards, order, this._whole));
    }
    return this._programs.get(name);
  }

  /** The log potentials of each kind: rows of numbers. Those without known labels are kept for further questions. */
  _tables(sentence, known, scale) {
    sentence.tables ??= new Map();
    if (!sentence.tables.has(scale)) sentence.tables.set(scale, this._freeTables(sentence, scale));
    const tables = [...sentence.tables.get(scale)];
    known.forEach((table, m) => {
      if (table !== null) tables.push({ numbers: table, size: this._labels[m].states.length });
    });
    return tables;
  }

  _freeTables(sentence, scale) {
    const fired = this._sets.map((features) => features.fired(sentence, this._atoms));
    const tables = [];
    let ofSegments = null; // scores of all candidates
    for (const part of this._parts) {
      let scores = part.given.length ? givenScores(part, sentence) : null;
      if (part.allowed !== null) scores = allowedRows(part, sentence);
      let assignments = scores === null ? 0 : scores.length / Math.max(1, sentence.length);
      if (part.weights !== null) {
        const features = this._sets[part.set];
        assignments = part.weights.assignments;
        if (!part.segment || ofSegments === null) scores = part.weights.scores(fired[part.set], features.rows(sentence.length));
        if (part.segment) {
          ofSegments ??= scores;
          scores = features.atEnds(ofSegments, assignments, part.segment, sentence.length);
        }
      }
      for (const { table, cells } of part.kinds) {
        if (scores === null) tables.push({ numbers: table.map((number) => scale * number), size: table.length });
        else tables.push({ numbers: scoredRows(scores, assignments, table, cells, scale), size: table.length });
      }
    }
    return tables;
  }

  _setting(sentence, known, scale, latentsFirst = false) {
    const is = known.map((table) => Number(table !== null)).join();
    return [this._program(sentence.length, is, latentsFirst), this._tables(sentence, known, scale)];
  }

  _logPartition(sentence, known = sentence.known) {
    return logPartition(...this._setting(sentence, known, this._temperature));
  }

  /** Of each label a list of rows, NaN if no labelling is possible; and whether one is. */
  _probabilities(sentence) {
    if (!sentence.length) return { byLabel: Object.fromEntries(this.labels.map((name) => [name, []])), possible: true };
    const { marginals, logZ } = marginalTables(...this._setting(sentence, sentence.known, this._temperature));
    const possible = logZ > -Infinity;
    const rows = this._byLabel(sentence, (variable) =>
      possible ? Array.from(marginals.get(variable)) : Array(marginals.get(variable).length).fill(NaN),
    );
    return { byLabel: rows, possible };
  }

  /** What `read` gives for the variable of each label at each token. */
  _byLabel(sentence, read) {
    const width = this._cards.length;
    const at = (m) => Array.from({ length: sentence.length }, (_, t) => read(this._whole.has(m) ? m : t * width + m));
    return Object.fromEntries(this.labels.map((name, m) => [name, at(m)]));
  }

  _labelled(sentence) {
    if (!sentence.length) return Object.fromEntries(this.labels.map((name) => [name, []]));
    if (this._decode === "marginal") {
      const { byLabel, possible } = this._probabilities(sentence);
      if (!possible) return null;
      const best = (row) => row.reduce((most, number, state) => (number > row[most] ? state : most), 0);
      return Object.fromEntries(this._labels.map(({ name, states }) => [name, byLabel[name].map((row) => states[best(row)])]));
    }
    const width = this._cards.length;
    const hidden = this._latents.size > 0;
    const [program, tables] = this._setting(sentence, sentence.known, hidden ? this._temperature : 1, hidden);
    const { states, score } = bestStates(program, tables, (variable) => this._latents.has(variable % width));
    if (score === -Infinity) return null;
    const codes = this._byLabel(sentence, (variable) => states.get(variable));
    return Object.fromEntries(this._labels.map((label) => [label.name, codes[label.name].map((code) => label.states[code])]));
  }
}

// parts of the model -------------------------------------------------------------------------------------------------

function featureSet(cut, one) {
  let first = 0;
  const templates = one.templates.map((described) => {
    const keys = cut.nextKeys("keys", described.count);
    const stages = described.stages.map(([before, count]) => [before, cut.nextKeys("stage_keys", count)]);
    const template = new Template(described, first, keys, stages);
    first += described.count;
    return template;
  });
  return new FeatureSet(templates, one, first);
}

/** A table of 0 for possible states and -Infinity for others, [T · states], where `cells` allow; an empty cell allows all. */
function restricted(table, cells, count) {
  const out = table === null ? new Float64Array(cells.length * count) : Float64Array.from(table);
  cells.forEach((allowed, t) => {
    if (allowed.length) for (let k = 0; k < count; k++) if (!allowed.includes(k)) out[t * count + k] = -Infinity;
  });
  return out;
}

/** The code of all observations together at each token; the first one changes slowest. */
function codesOf(observed, sentence) {
  let codes = new Int32Array(sentence.length);
  for (const [read, count] of observed) {
    const values = read(sentence);
    codes = codes.map((code, t) => code * count + values[t]);
  }
  return codes;
}

function allowedRows(part, sentence) {
  const size = part.allowed.length / part.codes;
  const rows = new Float64Array(sentence.length * size);
  codesOf(part.observed, sentence).forEach((code, t) => {
    for (let n = 0; n < size; n++) rows[t * size + n] = part.allowed[code * size + n];
  });
  return rows;
}

/** Scores of assignments at each anchor as rows of a table, with the log potentials that all rows share. */
function scoredRows(scores, assignments, table, cells, scale) {
  const count = scores.length / assignments;
  const rows = new Float64Array(count * table.length);
  for (let anchor = 0, at = 0; anchor < count; anchor++) {
    for (let n = 0; n < table.length; n++, at++) {
      rows[at] = scale * (scores[anchor * assignments + (cells === null ? n : cells[n])] + table[n]);
    }
  }
  return rows;
}

/** The sum of the scores that are given at each token, [T · assignments]. */
function givenScores(part, sentence) {
  let total = null;
  for (const [column, factor, tests] of part.given) {
    const codes = codesOf(tests, sentence);
    const numbers = sentence.columns.get(column);
    const rows = numbers.map((row, t) => row.map((number) => (codes[t] === 2 ** tests.length - 1 ? factor * number : 0)));
    const flatRows = Float64Array.from(rows.flat());
    total = total === null ? flatRows : total.map((number, n) => number + flatRows[n]);
  }
  return total;
}

// segments and tokens ------------------------------------------------------------------------------------------------

/** The segments of marks [mark, type], in the letters of `bioes`, by the rules of conlleval. */
function segmentsOf(marks) {
  const segments = [];
  let open = null;
  marks.forEach(([mark, type], t) => {
    const [before, kind] = t ? marks[t - 1] : ["O", ""];
    const goesOn = (mark === "I" || mark === "E") && (before === "B" || before === "I") && type === kind;
    if (mark === "O") open = null;
    else if (goesOn) open.last = t;
    else {
      open = { type, first: t, last: t };
      segments.push(open);
    }
  });
  return segments;
}

const MARKS = "[\\u0300-\\u{1efff}\\u{e0100}-\\u{e01ef}]"; // where combining marks lie
/** Tokenizer → its tokens. White space is part of no token; combining marks go with what they follow. */
const TOKENIZERS = {
  words: new RegExp(
    `(?:[\\p{L}\\p{N}_]|(?=${MARKS})\\p{M})+|[^\\p{L}\\p{N}_${PYTHON_SPACE}](?:(?=${MARKS})\\p{M})*`,
    "gu",
  ),
  whitespace: new RegExp(`[^${PYTHON_SPACE}]+`, "gu"),
  characters: new RegExp(`[^${PYTHON_SPACE}]`, "gu"),
};
