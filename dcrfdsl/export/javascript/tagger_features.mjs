// Features: from a sentence to the numbers of the features that fire, and from these to scores.
//
//     texts of a place → codes → keys (the codes of a cross as digits of one number) → features → scores of assignments
//
// Keys of a template are sorted, so that a search finds them; the feature's number follows from its place. They stay
// below 2^53, up to which numbers of JavaScript are whole. A text that training did not see has no code, and a key that
// is not there no feature.

const NO_CODE = -1;
const LARGEST = 1e100; // value of a feature: sums of scores are then finite

/**
 * One member of a cross without its place, from its node in the model.
 *
 * `codes(sentence, offset, pads)` gives rows of codes, or one row of numbers, [anchors] each; `weights` of a weighted bag
 * gives a number for each code.
 */
const ATOMS = {
  // ["number", leaf, term]: 0 outside the sentence, and where it is missing.
  number: ([, leaf, term], lexicons) => {
    const numbers = numbersIn(leaf, term, lexicons);
    return {
      isNumber: true,
      codes: (sentence, offset, pads) => {
        const found = numbers(sentence).map((number) => (Number.isNaN(number) ? 0 : number));
        return [moved(found, offset, pads, { before: 0, after: 0 })];
      },
    };
  },
  // ["test", leaf, test]: the code 0 where it is true.
  test: ([, leaf, test], lexicons) => {
    const passes = testOf(test, lexicons);
    const known = memo((value) => (passes(value) ? 0 : NO_CODE), NO_CODE);
    return {
      codes: (sentence, offset, pads) => [moved(Int32Array.from(sentence.values(leaf), known), offset, pads)],
    };
  },
  // ["joint", test]: a test of several places.
  joint: ([, test], lexicons) => {
    const holds = jointOf(test, lexicons);
    return {
      codes: (sentence, offset, pads) => [holds(sentence, pads).map((truth) => (truth === TRUE ? 0 : NO_CODE))],
    };
  },
  // ["texts", leaf, term, vocabulary, single]: the codes of its texts; outside, one for each side and distance.
  texts: ([, leaf, term, number, single], lexicons, vocabularies) => {
    const texts = textsOf(term, lexicons);
    const vocabulary = vocabularies[number];
    const first = memo((value) => {
      const text = texts(value)[0];
      return text === undefined ? NO_CODE : (vocabulary.get(text) ?? NO_CODE);
    }, NO_CODE);
    const every = memo(
      (value) => texts(value).flatMap((text) => vocabulary.get(text) ?? NONE),
      NONE,
    );
    return {
      codes: (sentence, offset, pads) => {
        const values = sentence.values(leaf);
        const rows = single ? [Int32Array.from(values, first)] : rowsOf(values.map(every), Int32Array, NO_CODE);
        return rowsMoved(rows, offset, pads, outsideCodes(vocabulary.size, offset, pads), NO_CODE);
      },
    };
  },
  // ["bag", leaf, term, vocabulary]: as `texts`, with the weights of the names.
  bag: ([, leaf, term, number], lexicons, vocabularies) => {
    const [vocabulary, weights] = [vocabularies[number], weightsOf(term, lexicons)];
    const items = memo(
      (value) => [...weights(value)].flatMap(([text, weight]) => (vocabulary.has(text) ? [[vocabulary.get(text), weight]] : NONE)),
      NONE,
    );
    const rows = (sentence, part, kind, none) =>
      rowsOf(sentence.values(leaf).map((value) => items(value).map((item) => item[part])), kind, none);
    return {
      codes: (sentence, offset, pads) => {
        const outside = outsideCodes(vocabulary.size, offset, pads);
        return rowsMoved(rows(sentence, 0, Int32Array, NO_CODE), offset, pads, outside, NO_CODE);
      },
      weights: (sentence, offset, pads) =>
        rowsMoved(rows(sentence, 1, Float64Array, 1), offset, pads, { before: 1, after: 1 }, 1),
    };
  },
};

/** The codes of places outside come after those of texts: one for each place before the sentence, then after it. */
function outsideCodes(size, offset, pads) {
  return { before: size, after: size + Math.max(0, pads[0] - offset), step: 1 };
}

/** Lists of several values at each token as rows [T]; at least one row. */
function rowsOf(lists, kind, none) {
  const count = lists.reduce((most, list) => Math.max(most, list.length), 1);
  return Array.from({ length: count }, (_, n) => kind.from(lists, (list) => (n < list.length ? list[n] : none)));
}

/** Rows read at an offset. What lies outside is in the first row alone. */
function rowsMoved(rows, offset, pads, outside, none) {
  return rows.map((row, n) => moved(row, offset, pads, n === 0 ? outside : { before: none, after: none }));
}

/** The place of a number among sorted ones; -1 if it is not there. */
function placeOf(sorted, wanted) {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] < wanted) low = middle + 1;
    else high = middle;
  }
  return low < sorted.length && sorted[low] === wanted ? low : -1;
}

/** A function from a key to its place: through a table where keys lie close together. */
function finderOf(keys) {
  const most = keys.length ? keys[keys.length - 1] : 0;
  if (most > 4 * keys.length + 1000) return (key) => placeOf(keys, key);
  const table = new Int32Array(most + 1).fill(-1);
  keys.forEach((key, place) => (table[key] = place));
  return (key) => (key <= most ? table[key] : -1);
}

/**
 * A cross of atoms at places. Key k of its sorted keys is the feature `first` + k.
 *
 * factors: [atom, offset].   sizes: the base of each factor's digit in a key, 0 for numbers.   inside: with
 * `outside = skip`, the first and last place that must lie in the sentence.   stages: of a factor, smaller numbers for
 * the keys joined before it, where keys would get too large.
 */
class Template {
  constructor(described, first, keys, stages) {
    this.factors = described.factors;
    this.sizes = described.sizes;
    this.inside = described.inside;
    this.first = first;
    this.find = finderOf(keys);
    this.stages = new Map(stages.map(([before, stageKeys]) => [before, finderOf(stageKeys)]));
  }

  /** Rows of keys [anchors], -1 where nothing fires; and rows of products of numbers and weights, or null. */
  rows(sentence, atoms, codesAt, pads) {
    const anchors = pads[0] + sentence.length + pads[1];
    let keys = null; // rows
    let weights = null; // as many rows as keys, or one
    this.factors.forEach(([number, offset], n) => {
      const [atom, codes] = [atoms[number], codesAt(number, offset)];
      if (atom.isNumber) {
        weights = weights === null ? [codes[0]] : weights.map((row) => row.map((value, t) => value * codes[0][t]));
        return;
      }
      const stage = this.stages.get(n);
      if (stage !== undefined && keys !== null) keys = keys.map((row) => row.map((key) => (key < 0 ? key : stage(key))));
      if (weights !== null || atom.weights !== undefined) {
        const theirs = atom.weights === undefined ? null : atom.weights(sentence, offset, pads);
        const ours = keys === null ? (weights ?? [null]) : keys.map((_, row) => weights && weights[row % weights.length]);
        weights = ours.flatMap((row) =>
          codes.map((_, m) => Float64Array.from({ length: anchors }, (_, t) => (row ? row[t] : 1) * (theirs ? theirs[m][t] : 1))),
        );
      }
      if (keys === null) keys = codes.map((row) => Float64Array.from(row));
      else keys = keys.flatMap((row) => codes.map((code) => crossed(row, code, this.sizes[n])));
    });
    keys ??= [new Float64Array(anchors)];
    if (this.inside !== null) {
      const [low, high] = this.inside;
      for (let t = 0; t < anchors; t++) {
        if (t - pads[0] + low < 0 || t - pads[0] + high >= sentence.length) keys.forEach((row) => (row[t] = NO_CODE));
      }
    }
    return [keys, weights];
  }
}

function crossed(keys, codes, size) {
  return keys.map((key, t) => (key < 0 || codes[t] < 0 ? NO_CODE : key * size + codes[t]));
}

/**
 * The features of one or more cliques.
 *
 * summed: whether all of a sentence are at its first anchor.   segments: with features of segments, their most tokens,
 * and whether one row stands for all longer ones.
 */
class FeatureSet {
  constructor(templates, { pads, summed, segments }, count) {
    this.templates = templates;
    this.pads = pads;
    this.summed = summed;
    this.segments = segments;
    this.count = count;
  }

  /** Anchors of a sentence, or candidates for segments in it. */
  rows(length) {
    if (this.segments === null) return this.pads[0] + length + this.pads[1];
    const [limit, together] = this.segments;
    return this._shorter(Math.min(limit, length) + 1, length) + Number(together);
  }

  /** Candidates of fewer than `count` tokens. */
  _shorter(count, length) {
    return (count - 1) * (length + 1) - (count * (count - 1)) / 2;
  }

  /** Of the scores of all candidates those of `count` tokens, at their last ones. */
  atEnds(scores, assignments, count, length) {
    const out = new Float64Array(length * assignments);
    const [limit] = this.segments;
    if (count > limit) {
      const longer = scores.subarray(scores.length - assignments); // one row for all of them
      for (let t = limit; t < length; t++) out.set(longer, t * assignments);
    } else if (count <= length) {
      const [first, many] = [this._shorter(count, length), length - count + 1];
      out.set(scores.subarray(first * assignments, (first + many) * assignments), (count - 1) * assignments);
    }
    return out;
  }

  /** The features that fire: feature[i] at anchor[i] with value[i]. */
  fired(whole, atoms) {
    const sentence = this.segments === null ? whole : whole.candidates(...this.segments);
    const fired = { anchor: [], feature: [], value: [] };
    const read = new Map();
    const codesAt = (atom, offset) => {
      const name = `${atom} ${offset}`;
      if (!read.has(name)) read.set(name, atoms[atom].codes(sentence, offset, this.pads));
      return read.get(name);
    };
    for (const template of this.templates) {
      const [keys, weights] = template.rows(sentence, atoms, codesAt, this.pads);
      keys.forEach((row, n) => {
        const values = weights === null ? null : weights[n % weights.length];
        for (let anchor = 0; anchor < row.length; anchor++) {
          if (row[anchor] < 0 || (values !== null && values[anchor] === 0)) continue;
          const place = template.find(row[anchor]);
          if (place < 0) continue;
          const value = values === null ? 1 : values[anchor];
          if (!(Math.abs(value) <= LARGEST)) {
            throw new TaggerError(`a number is too large for scores: a feature has the value ${value}`);
          }
          fired.anchor.push(this.summed ? 0 : anchor);
          fired.feature.push(template.first + place);
          fired.value.push(value);
        }
      });
    }
    return fired;
  }
}

/** The weights of a clique: those of feature f are `weight[off[f]]` to `weight[off[f + 1]]`, for the assignments `cell`. */
class Weights {
  constructor(off, cell, weight, assignments) {
    this.off = off;
    this.cell = cell;
    this.weight = weight;
    this.assignments = assignments;
  }

  /** The sum of the weights of each assignment at each anchor, [anchors · assignments]. */
  scores(fired, anchors) {
    const { off, cell, weight, assignments } = this;
    const out = new Float64Array(anchors * assignments);
    const { anchor, feature, value } = fired;
    for (let n = 0; n < feature.length; n++) {
      const start = anchor[n] * assignments;
      for (let entry = off[feature[n]]; entry < off[feature[n] + 1]; entry++) {
        out[start + cell[entry]] += weight[entry] * value[n];
      }
    }
    return out;
  }
}
