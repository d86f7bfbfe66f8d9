// A sentence of T tokens: its columns, and what is read at a place of each position.
//
// An anchor is a position at which a clique is read; with padded cliques anchors begin before the sentence and end after
// it. pads: [anchors before the sentence, anchors after it].

const NO_PADS = [0, 0];
const [FALSE, UNKNOWN, TRUE] = [0, 1, 2]; // of tests that read several places: outside the sentence nothing is known
const [NO_TEXT, OUTSIDE_TEXT] = [-1, -2];
const NONE = []; // no arguments for `moved`

/**
 * columns: a Map of texts, numbers or lists of numbers.   leaves: what the features of the model read, as nodes.
 * ranges: of candidates for segments, which stand for tokens then, where each starts and ends; -1 of the one that stands
 * for all longer segments.
 */
class Sentence {
  constructor(length, columns, leaves, lexicons) {
    this.length = length;
    this.columns = columns;
    this.leaves = leaves;
    this.lexicons = lexicons;
    this.read = new Map();
    this.ranges = [];
  }

  /** All ranges of up to `limit` tokens as tokens, the short ones first; with `together`, then that of longer ones. */
  candidates(limit, together) {
    const ranges = [];
    for (let count = 1; count <= Math.min(limit, this.length); count++) {
      for (let start = 0; start + count <= this.length; start++) ranges.push([start, start + count]);
    }
    if (together) ranges.push([-1, limit]);
    const candidates = new Sentence(ranges.length, this.columns, this.leaves, this.lexicons);
    candidates.ranges = ranges;
    return candidates;
  }

  /** The T values of a leaf: a column, `first`, `last`, `index`, or spans of a lexicon (null: in no span). */
  values(leaf) {
    if (!this.read.has(leaf)) this.read.set(leaf, LEAVES[this.leaves[leaf][0]](this, this.leaves[leaf]));
    return this.read.get(leaf);
  }
}

/**
 * Numbers [T] read at t + offset for every anchor, [anchors], in an array of their kind.
 *
 * before, after: what lies next to the sentence, plus `step` for each position further out.
 */
function moved(values, offset, pads, { before = -1, after = -1, step = 0 } = NONE) {
  const length = values.length;
  const out = new values.constructor(pads[0] + length + pads[1]);
  for (let anchor = 0; anchor < out.length; anchor++) {
    const at = anchor - pads[0] + offset;
    out[anchor] = at < 0 ? before + step * (-1 - at) : at >= length ? after + step * (at - length) : values[at];
  }
  return out;
}

// leaves -------------------------------------------------------------------------------------------------------------

function positions(sentence, compute) {
  return Array.from({ length: sentence.length }, (_, t) => compute(t));
}

/** ["span", lexicon, leaf, term]: B where an entry begins, I where it continues; the longest from the left. */
function spansOfLexicon(sentence, [, name, inner, term]) {
  const lexicon = sentence.lexicons.get(name);
  const texts = textsOf(term, sentence.lexicons);
  const words = sentence.values(inner).map((value) => {
    const first = value === null ? undefined : texts(value)[0];
    return first === undefined ? null : lexicon.key(first);
  });
  const [entries, begun] = lexicon.phrases;
  const out = Array(words.length).fill(null);
  for (let t = 0; t < words.length; ) {
    let last = t;
    let phrase = "";
    for (let at = t; at < words.length && words[at] !== null; at++) {
      if (words[at].includes("\n")) break; // the entries are joined by line feeds, and no word of theirs has one
      phrase = at === t ? words[at] : `${phrase}\n${words[at]}`;
      if (!begun.has(phrase)) break;
      if (entries.has(phrase)) last = at + 1;
    }
    for (let at = t; at < last; at++) out[at] = at === t ? "B" : "I";
    t = Math.max(last, t + 1);
  }
  return out;
}

/** ["segment", function, column, offset]: what is read of each candidate; null outside the sentence. */
function ofSegments(sentence, [, name, column, offset]) {
  const texts = sentence.columns.get(column);
  return sentence.ranges.map(([start, end]) => SEGMENTS[name](texts, start, end, offset));
}

/** The tokens of a sentence, where a candidate starts and ends (-1: it is all longer ones), and an offset → a value. */
const SEGMENTS = {
  first: (texts, start, end, offset) => (start < 0 ? null : (texts[start + offset] ?? null)),
  last: (texts, start, end, offset) => (start < 0 ? null : (texts[end - 1 + offset] ?? null)),
  joined: (texts, start, end) => (start < 0 ? null : texts.slice(start, end).join(" ")),
  any: (texts, start, end) => (start < 0 ? "" : unique(texts.slice(start, end)).map((text) => BETWEEN + text).join("")),
};

/** Leaves that are numbers, as arrays [T]. */
const ARRAYS = {
  numbers: (sentence, leaf) => sentence.columns.get(leaf[1]),
  window: (sentence, [, statistic, first, last, leaf, term]) =>
    inWindows(statistic, numbersIn(leaf, term, sentence.lexicons)(sentence), first, last),
};

const LEAVES = {
  column: (sentence, leaf) => sentence.columns.get(leaf[1]),
  numbers: (sentence, leaf) => Array.from(ARRAYS.numbers(sentence, leaf)),
  window: (sentence, leaf) => Array.from(ARRAYS.window(sentence, leaf)),
  index: (sentence) => positions(sentence, (t) => String(t + 1)),
  first: (sentence) => positions(sentence, (t) => t === 0),
  last: (sentence) => positions(sentence, (t) => t === sentence.length - 1),
  span: spansOfLexicon,
  segment: ofSegments,
  "length of segment": (sentence) =>
    sentence.ranges.map(([start, end]) => (start < 0 ? `${end + 1} and more` : String(end - start))),
};

/** The number of a term at each token, [T]; NaN for none. */
function numbersIn(leaf, term, lexicons) {
  if (term[0] === "scaled") {
    const inner = numbersIn(leaf, term[term.length - 1], lexicons);
    return (sentence) => inner(sentence).map((number) => (number - term[1]) / term[2]);
  }
  if (term[0] === "component") {
    return (sentence) => Float64Array.from(sentence.columns.get(sentence.leaves[leaf][1]), (vector) => vector[term[1]]);
  }
  const texts = textsOf(term, lexicons);
  const known = memo((value) => {
    const found = texts(value);
    return found.length ? numberOf(found[0]) : NaN;
  }, NaN);
  const isPlain = term.length === 1 && term[0] === "column";
  return (sentence) => {
    const node = sentence.leaves[leaf];
    if (isPlain && node[0] in ARRAYS) return ARRAYS[node[0]](sentence, node);
    return Float64Array.from(sentence.values(leaf), known);
  };
}

// statistics of windows ----------------------------------------------------------------------------------------------

//   mean, max, min       of the numbers that are there
//   spread               √(Σ (x - mean)² / n), of two or more
//   change               the last number less the first
//   slope                Σ (t - mean t)(x - mean x) / Σ (t - mean t)², t the positions of the numbers
//
// All windows are put together of windows half as wide, as in the model, so that both round alike. Source: Chan, Golub &
// LeVeque (1983), "Algorithms for computing the sample variance", eq. 2.1 (two sets put together).

/** The statistic at each position t of the numbers [T] at t + first … t + last; NaN for none. */
function inWindows(name, numbers, first, last) {
  const length = numbers.length;
  const [low, high] = [Math.max(first, 1 - length), Math.min(last, length - 1)];
  if (low > high) return new Float64Array(length).fill(NaN); // every window lies outside
  const padded = [];
  for (let t = Math.min(low, 0); t < length + Math.max(0, high); t++) {
    padded.push(t >= 0 && t < length ? numbers[t] : NaN);
  }
  const found = STATISTICS[name](padded.slice(Math.max(0, low)), high - low + 1);
  return Float64Array.from({ length }, (_, t) => (Number.isFinite(found[t]) ? found[t] : NaN));
}

/** What is known of each run of `width` positions, from each position. */
function joinedRuns(join, single, width) {
  const length = single.length - width + 1;
  const joinAll = (ours, theirs, shift, count) =>
    Array.from({ length: count }, (_, n) => join(ours[n], theirs[n + shift]));
  let [runs, at, joined] = [single, 0, null];
  for (let size = 1; ; size *= 2) { // `runs` holds runs of `size` positions
    if (width & size) {
      joined = joined === null ? runs.slice(at, at + length) : joinAll(joined, runs, at, length);
      at += size;
    }
    if (2 * size > width) return joined;
    runs = joinAll(runs, runs, size, runs.length - size);
  }
}

/** n, mean a, mean b and Σ (a - mean a)(b - mean b) of two sets together. */
function joinedMoments(one, other) {
  const n = one[0] + other[0];
  const share = other[0] / Math.max(n, 1);
  const [a, b] = [other[1] - one[1], other[2] - one[2]];
  return [n, one[1] + share * a, one[2] + share * b, one[3] + other[3] + a * b * one[0] * share];
}

/** Of each window; NaN where b, which is NaN where there is no number, has none. */
function moments(a, b, width) {
  const single = b.map((value, t) => (Number.isNaN(value) ? [0, 0, 0, 0] : [1, a[t], value, 0]));
  return joinedRuns(joinedMoments, single, width).map((found) => (found[0] > 0 ? found : [NaN, NaN, NaN, NaN]));
}

function withoutGaps(choose) {
  return (one, other) => (Number.isNaN(one) ? other : Number.isNaN(other) ? one : choose(one, other));
}

const STATISTICS = {
  mean: (numbers, width) => moments(numbers, numbers, width).map((found) => found[2]),
  max: (numbers, width) => joinedRuns(withoutGaps(Math.max), numbers, width),
  min: (numbers, width) => joinedRuns(withoutGaps(Math.min), numbers, width),
  spread: (numbers, width) =>
    moments(numbers, numbers, width).map(([n, , , squares]) => (n > 1 ? Math.sqrt(squares / n) : NaN)),
  change: (numbers, width) => {
    const first = joinedRuns(withoutGaps((one) => one), numbers, width);
    const last = joinedRuns(withoutGaps((_, other) => other), numbers, width);
    return last.map((number, n) => number - first[n]);
  },
  slope: (numbers, width) => {
    const t = numbers.map((_, n) => n);
    const products = moments(t, numbers, width);
    const squares = moments(t, numbers.map((number, n) => (Number.isNaN(number) ? NaN : n)), width);
    return products.map((found, n) => (squares[n][3] > 0 ? found[3] / squares[n][3] : NaN));
  },
};

// tests that read several places -------------------------------------------------------------------------------------

/** A test that may read several places: a sentence and pads → FALSE, UNKNOWN or TRUE at each anchor. */
function jointOf(node, lexicons) {
  return JOINT[node[0]](node, lexicons);
}

/** ["given", number], ["less", left, right], ["read", leaf, term, offset]: at each anchor, or NaN. */
function numbersAt(node, lexicons) {
  if (node[0] === "given") {
    return (sentence, pads) => new Float64Array(pads[0] + sentence.length + pads[1]).fill(Number(node[1]));
  }
  if (node[0] === "less") {
    const [left, right] = node.slice(1).map((side) => numbersAt(side, lexicons));
    return (sentence, pads) => {
      const less = right(sentence, pads);
      return left(sentence, pads).map((number, n) => number - less[n]);
    };
  }
  const [, leaf, term, offset] = node;
  const numbers = numbersIn(leaf, term, lexicons);
  return (sentence, pads) => moved(numbers(sentence), offset, pads, { before: NaN, after: NaN });
}

/** The offsets that a side of a comparison reads. */
function placesOf(node) {
  if (node[0] === "less") return node.slice(1).flatMap(placesOf);
  return node[0] === "read" ? [node[3]] : [];
}

function combined(choose) {
  return (node, lexicons) => {
    const tests = node.slice(1).map((part) => jointOf(part, lexicons));
    return (sentence, pads) => {
      const found = tests.map((test) => test(sentence, pads));
      return found[0].map((_, n) => choose(...found.map((truth) => truth[n])));
    };
  };
}

const JOINT = {
  // ["at", offset, leaf, test]. A token without a value passes no test.
  at: ([, offset, leaf, test], lexicons) => {
    const passes = testOf(test, lexicons);
    const known = memo((value) => (passes(value) ? TRUE : FALSE), FALSE);
    return (sentence, pads) => {
      const codes = Int32Array.from(sentence.values(leaf), known);
      return moved(codes, offset, pads, { before: UNKNOWN, after: UNKNOWN });
    };
  },
  // ["same", negated, [leaf, term, offset], [leaf, term, offset]]: equal texts at two places.
  same: ([, negated, ...places], lexicons) => {
    const sides = places.map(([leaf, term, offset]) => [leaf, memo(textsOf(term, lexicons), NONE), offset]);
    return (sentence, pads) => {
      const number = new Map();
      const [one, other] = sides.map(([leaf, texts, offset]) => {
        const codes = Int32Array.from(sentence.values(leaf), (value) => {
          const text = texts(value)[0];
          if (text === undefined) return NO_TEXT;
          if (!number.has(text)) number.set(text, number.size);
          return number.get(text);
        });
        return moved(codes, offset, pads, { before: OUTSIDE_TEXT, after: OUTSIDE_TEXT });
      });
      return one.map((code, n) => {
        if (code === OUTSIDE_TEXT || other[n] === OUTSIDE_TEXT) return UNKNOWN;
        return (code === other[n] && code !== NO_TEXT) !== negated ? TRUE : FALSE;
      });
    };
  },
  // ["compare_at", sign, left, right]: numbers of several places; unknown where one of them lies outside.
  compare_at: ([, sign, ...nodes], lexicons) => {
    const [left, right] = nodes.map((side) => numbersAt(side, lexicons));
    const places = nodes.flatMap(placesOf);
    const [low, high] = [Math.min(...places), Math.max(...places)];
    return (sentence, pads) => {
      const [ours, theirs] = [left(sentence, pads), right(sentence, pads)];
      return Int32Array.from(ours, (number, anchor) => {
        const t = anchor - pads[0];
        if (t + low < 0 || t + high >= sentence.length) return UNKNOWN;
        return COMPARISONS[sign](number, theirs[anchor]) ? TRUE : FALSE;
      });
    };
  },
  not: (node, lexicons) => {
    const inner = jointOf(node[1], lexicons);
    return (sentence, pads) => inner(sentence, pads).map((truth) => TRUE - truth);
  },
  and: combined(Math.min),
  or: combined(Math.max),
};

// what hard constraints and memories read ----------------------------------------------------------------------------

/** A test with two values at each token, 0 or 1: what reads outside the sentence does not hold, and its `not` does. */
function holdsOf(node, lexicons) {
  if (node[0] === "is_true") {
    const test = jointOf(node[1], lexicons);
    return (sentence) => test(sentence, NO_PADS).map((truth) => Number(truth === TRUE));
  }
  const parts = node.slice(1).map((part) => holdsOf(part, lexicons));
  if (node[0] === "not") return (sentence) => parts[0](sentence).map((holds) => 1 - holds);
  const choose = node[0] === "and" ? Math.min : Math.max;
  return (sentence) => {
    const found = parts.map((part) => part(sentence));
    return found[0].map((_, t) => choose(...found.map((holds) => holds[t])));
  };
}

/** ["state", states, leaf, term, offset]: the number of the state that equals a text at each token; or their count. */
function stateNumbersOf([, states, leaf, term, offset], lexicons) {
  const texts = textsOf(term, lexicons);
  const number = new Map(states.map((state, n) => [state, n]));
  const known = memo((value) => number.get(texts(value)[0]) ?? states.length, states.length);
  return (sentence) =>
    moved(Int32Array.from(sentence.values(leaf), known), offset, NO_PADS, {
      before: states.length,
      after: states.length,
    });
}

/** What an observation is at each token, as a whole number. */
function observationOf(node, lexicons) {
  return node[0] === "state" ? stateNumbersOf(node, lexicons) : holdsOf(node, lexicons);
}
