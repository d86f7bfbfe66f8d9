// What features look at: functions and tests of one value, as a template spells them.
//
// A node is a list: its kind, then its parts. ["lower", ["column"]] is the value of a column in lower case;
// ["has", ["column"], "[0-9]"] asks whether it has a digit. Texts are counted and cut in characters (code points), and
// classes of characters are those of Python, in which the model was trained.

/** Input that cannot be tagged, or a model that cannot be read. */
export class TaggerError extends Error {
  constructor(message) {
    super(message);
    this.name = "TaggerError";
  }
}

const MOST_KEPT = 200_000; // results that a function remembers: a page that stays open for months must not grow

/** A function of one value that remembers its results. `null`, no value at all, has the result `nothing`. */
function memo(compute, nothing) {
  const known = new Map();
  return (value) => {
    if (value === null) return nothing;
    let result = known.get(value);
    if (result === undefined) {
      if (known.size >= MOST_KEPT) known.clear();
      result = compute(value);
      known.set(value, result);
    }
    return result;
  };
}

// characters ---------------------------------------------------------------------------------------------------------

const SURROGATE = /[\ud800-\udfff]/;
// What Python calls a digit and Unicode no decimal number: superscripts, circled digits and the like.
const OTHER_DIGIT =
  /[\u00b2\u00b3\u00b9\u1369-\u1371\u19da\u2070\u2074-\u2079\u2080-\u2089\u2460-\u2468\u2474-\u247c\u2488-\u2490\u24ea\u24f5-\u24fd\u24ff\u2776-\u277e\u2780-\u2788\u278a-\u2792\u{10a40}-\u{10a43}\u{10e60}-\u{10e68}\u{11052}-\u{1105a}\u{1f100}-\u{1f10a}]/u;

/** The characters of a text: code points, where a text of JavaScript counts units of 16 bits. */
function charactersOf(text) {
  return SURROGATE.test(text) ? Array.from(text) : text.split("");
}

function lengthOf(text) {
  return SURROGATE.test(text) ? Array.from(text).length : text.length;
}

/** Characters `start` to `end`, which is excluded. */
function cutOf(text, start, end) {
  return SURROGATE.test(text) ? Array.from(text).slice(start, end).join("") : text.slice(start, end);
}

/** The character that stands for another one in a shape: X, x, d, or itself. */
const shapeOf = memo((character) => {
  if (/[\p{Uppercase}\p{Lt}]/u.test(character)) return "X";
  if (/\p{L}/u.test(character)) return "x";
  return /\p{Nd}/u.test(character) || OTHER_DIGIT.test(character) ? "d" : character;
});

/** A text case-folded as Python does it. special: the characters whose folding is not their lower case. */
function foldedBy(special) {
  const folded = new Map(special);
  return (text) => {
    let out = "";
    for (const character of text) out += folded.get(character) ?? character.toLowerCase();
    return out;
  };
}

/** The regular expression that matches what a pattern of Python's `re` matches; `export` writes but a few of its forms. */
function regexOf(pattern, whole) {
  const fixed = { "(?a:\\b)": "(?:\\b)", "(?m:^)": "(?<![^\\n])", "(?m:$)": "(?![^\\n])", "\\A": "(?:^)", "\\Z": "(?:$)" };
  const forms = /\(\?a:\\b\)|\(\?m:[$^]\)|\\U([0-9a-f]{8})|\\[xu]([0-9a-f]{2,4})|\\([^])/g;
  const source = pattern.replace(forms, (form, long, short, character) => {
    if (form in fixed) return fixed[form];
    if (character === "n") return "\\n";
    const code = character === undefined ? parseInt(long ?? short, 16) : character.codePointAt(0);
    return `\\u{${code.toString(16)}}`;
  });
  return new RegExp(whole ? `^(?:${source})$` : source, "u");
}

// texts --------------------------------------------------------------------------------------------------------------

const PART = /[^ \t\r\v\f\n]+/g; // between white space of ASCII: a no-break space is part of a word
const BETWEEN = "\udfff"; // half a character, which is in no text
const LONG = 20; // all lengths from here on are one value
const NUMBER = /^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$/;

/** The parts of a text between white space. */
function partsOf(text) {
  return text.match(PART) ?? [];
}

/** The number that a text is, or a number itself; NaN for any other text, and beyond 64-bit numbers. */
function numberOf(value) {
  if (typeof value !== "string") return Number(value);
  const number = NUMBER.test(value) ? Number(value) : NaN;
  return Number.isFinite(number) ? number : NaN;
}

/** Entry → value; "" in a set. fold: how a text is spelled before it is looked up. */
class Lexicon {
  constructor(entries, fold) {
    this.entries = new Map(entries);
    this.key = fold;
  }

  holds(text) {
    return this.entries.has(this.key(text));
  }

  lookedUp(text) {
    return this.holds(text) ? [this.entries.get(this.key(text))] : [];
  }

  /** Every entry as words and every beginning of one, each joined by line feeds. */
  get phrases() {
    if (this._phrases === undefined) {
      const whole = new Set();
      const begun = new Set();
      for (const entry of this.entries.keys()) {
        const words = entry.split(PYTHON_SPACES).filter(Boolean);
        words.forEach((_, n) => begun.add(words.slice(0, n + 1).join("\n")));
        if (words.length) whole.add(words.join("\n"));
      }
      this._phrases = [whole, begun];
    }
    return this._phrases;
  }
}

// What Python's `str.split` takes for white space.
const PYTHON_SPACE = "\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";
const PYTHON_SPACES = new RegExp(`[${PYTHON_SPACE}]+`, "u");

function unique(texts) {
  return texts.length < 2 ? texts : [...new Set(texts)];
}

/** The arguments of a function in a node → a function from one text to its texts. */
const FUNCTIONS = {
  lower: () => (text) => [text.toLowerCase()],
  prefix: (lengths) => (text) => {
    const most = lengthOf(text);
    return lengths.filter((n) => n <= most).map((n) => cutOf(text, 0, n));
  },
  suffix: (lengths) => (text) => {
    const most = lengthOf(text);
    return lengths.filter((n) => n <= most).map((n) => cutOf(text, most - n, most));
  },
  part: (numbers) => (text) => {
    const split = text.split(" ");
    return unique(numbers.filter((n) => n <= split.length).map((n) => split[n - 1]));
  },
  shape: (short) => (text) => {
    const kinds = charactersOf(text).map(shapeOf);
    return [(short ? kinds.filter((kind, n) => n === 0 || kind !== kinds[n - 1]) : kinds).join("")];
  },
  length: () => (text) => [lengthOf(text) < LONG ? String(lengthOf(text)) : `${LONG}+`],
  exact_length: () => (text) => [String(lengthOf(text))],
  chars: (lengths) => (text) => {
    const characters = charactersOf(text);
    const found = [];
    for (const n of lengths) {
      for (let at = 0; at + n <= characters.length; at++) found.push(characters.slice(at, at + n).join(""));
    }
    return unique(found);
  },
  extract: (pattern) => {
    const regex = regexOf(pattern, false);
    return (text) => {
      const match = regex.exec(text);
      return match === null ? [] : [match[0]];
    };
  },
  // The name of the range between edges that a number lies in; an edge belongs to the range above it.
  bin: (edges, names) => (text) => {
    const number = numberOf(text);
    return Number.isNaN(number) ? [] : [names[edges.filter((edge) => edge <= number).length]];
  },
  scaled: (shift, unit) => (text) => [(numberOf(text) - shift) / unit],
};

/** The function that a node [name, argument …, inner] calls with the texts of the inner one. */
function functionOf(node, lexicons) {
  const given = node.slice(1, -1);
  if (node[0] === "lookup") return (text) => lexicons.get(given[0]).lookedUp(text);
  return FUNCTIONS[node[0]](...given);
}

/** Whether a term is made of the names of a weighted bag. */
function isWeighted(node) {
  return node.length === 1 ? node[0] === "weighted_bag" : isWeighted(node[node.length - 1]);
}

/** The texts of a value: one, several (the parts of a bag, prefixes), or none; each once. */
function textsOf(node, lexicons) {
  if (isWeighted(node)) {
    const weights = weightsOf(node, lexicons);
    return (value) => [...weights(value)].filter(([, weight]) => weight !== 0).map(([text]) => text);
  }
  if (node[0] === "column") return (value) => [value];
  if (node[0] === "each") return (value) => value.split(BETWEEN).slice(1); // of the tokens of a segment
  if (node[0] === "bag") return (value) => unique(partsOf(value));
  const inner = textsOf(node[node.length - 1], lexicons);
  const compute = functionOf(node, lexicons);
  return (value) => unique(inner(value).flatMap(compute));
}

/** The texts that a term makes of the names of a weighted bag, with their weights; those of equal texts add up. */
function weightsOf(node, lexicons) {
  if (node[0] === "weighted_bag") return (value) => new Map(value);
  const inner = weightsOf(node[node.length - 1], lexicons);
  const compute = functionOf(node, lexicons);
  return (value) => {
    const found = new Map();
    for (const [name, weight] of inner(value)) {
      for (const text of unique(compute(name))) found.set(text, (found.get(text) ?? 0) + weight);
    }
    return found;
  };
}

// tests --------------------------------------------------------------------------------------------------------------

/** Comparisons of numbers. Nothing holds of NaN, not even `!=`. */
const COMPARISONS = {
  "<": (left, right) => left < right,
  "<=": (left, right) => left <= right,
  ">": (left, right) => left > right,
  ">=": (left, right) => left >= right,
  "=": (left, right) => left === right,
  "!=": (left, right) => left < right || left > right,
};

function anyText(term, lexicons, passes) {
  const texts = textsOf(term, lexicons);
  return (value) => texts(value).some(passes);
}

/** ["given", number], ["less", left, right], ["read", term]: the number at one place. */
function quantityOf(node, lexicons) {
  if (node[0] === "given") return () => Number(node[1]);
  if (node[0] === "less") {
    const [left, right] = [quantityOf(node[1], lexicons), quantityOf(node[2], lexicons)];
    return (value) => left(value) - right(value);
  }
  const texts = textsOf(node[1], lexicons);
  return (value) => {
    const found = texts(value);
    return found.length ? numberOf(found[0]) : NaN;
  };
}

/** A test of a template: its node and the lexicons → a function of one value. */
const TESTS = {
  itself: () => Boolean, // `first` and `last` are tests as they are
  matches: ([, term, pattern], lexicons) => {
    const regex = regexOf(pattern, true);
    return anyText(term, lexicons, (text) => regex.test(text));
  },
  has: ([, term, pattern], lexicons) => {
    const regex = regexOf(pattern, false);
    return anyText(term, lexicons, (text) => regex.test(text));
  },
  in: ([, term, texts], lexicons) => {
    const members = new Set(texts);
    return anyText(term, lexicons, (text) => members.has(text));
  },
  in_lexicon: ([, term, name], lexicons) => anyText(term, lexicons, (text) => lexicons.get(name).holds(text)),
  // Both have a text, and it is the same.
  equal: (node, lexicons) => {
    const [left, right] = [textsOf(node[1], lexicons), textsOf(node[2], lexicons)];
    return (value) => {
      const [ours, theirs] = [left(value), right(value)];
      return ours.length > 0 && theirs.length > 0 && ours[0] === theirs[0];
    };
  },
  // False where one side is no number.
  compare: ([, sign, one, other], lexicons) => {
    const [left, right] = [quantityOf(one, lexicons), quantityOf(other, lexicons)];
    return (value) => COMPARISONS[sign](left(value), right(value));
  },
  not: (node, lexicons) => {
    const inner = testOf(node[1], lexicons);
    return (value) => !inner(value);
  },
  and: (node, lexicons) => {
    const tests = node.slice(1).map((part) => testOf(part, lexicons));
    return (value) => tests.every((test) => test(value));
  },
  or: (node, lexicons) => {
    const tests = node.slice(1).map((part) => testOf(part, lexicons));
    return (value) => tests.some((test) => test(value));
  },
};

/** A test of one value. A value with several texts passes if one of them does. */
function testOf(node, lexicons) {
  return TESTS[node[0]](node, lexicons);
}
