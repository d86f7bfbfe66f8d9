// Sentences as values of JavaScript: their columns, checked and turned into texts and numbers; labels known before.
//
// A sentence is an object of column → values, or a list of tokens; a token is an object of column → value, a list of the
// values in declared order, or, where there is one column, a text.

const FREE = "_"; // a label that is not known, whatever mark it has declared

/** A value for a message, cut if it is long. */
function shown(value) {
  let text;
  try {
    text = JSON.stringify(value) ?? String(value);
  } catch {
    text = Object.prototype.toString.call(value);
  }
  return `\`${text.length <= 60 ? text : `${text.slice(0, 57)}…`}\``;
}

function isMapping(value) {
  return typeof value === "object" && value !== null && !isList(value);
}

function isList(value) {
  return Array.isArray(value) || (ArrayBuffer.isView(value) && !(value instanceof DataView));
}

/** Whether an object has a key of its own: `constructor` is the name of no column that is not there. */
function has(mapping, key) {
  return mapping instanceof Map ? mapping.has(key) : Object.hasOwn(mapping, key);
}

function valueOf(mapping, key) {
  return mapping instanceof Map ? mapping.get(key) : mapping[key];
}

function entriesOf(mapping) {
  return mapping instanceof Map ? [...mapping] : Object.entries(mapping);
}

/** The numbers of the states that a cell of known labels allows; none if it says nothing. */
function allowedStates(label, cell) {
  const isMark = (text) => text === null || text === undefined || text === FREE || text === label.missing;
  if (isMark(cell)) return [];
  let members = [cell];
  if (!label.states.includes(cell) && label.ambiguous && typeof cell === "string" && cell.includes(label.ambiguous)) {
    members = cell.split(label.ambiguous);
    if (members.some(isMark)) return [];
  }
  const numbers = members.map((member) => {
    const known = label.others && !label.states.includes(member) ? label.others : member;
    const number = label.states.indexOf(known);
    if (number < 0) throw new TaggerError(`label \`${label.name}\` has the value ${shown(known)}, which the model does not know`);
    return number;
  });
  return [...new Set(numbers)];
}

// columns ------------------------------------------------------------------------------------------------------------

/** The values of each column of a sentence, as a Map. `optional` ones may be absent; they are left out then. */
function columnsOf(sentence, columns, optional) {
  let found;
  if (isList(sentence)) found = columnsOfTokens(sentence, columns, optional);
  else if (isMapping(sentence)) {
    const given = columns.filter((column) => has(sentence, column.source));
    found = new Map(given.map((column) => [column.name, listed(valueOf(sentence, column.source), column)]));
  } else throw new TaggerError(`found ${shown(sentence)}, expected a sentence: columns with lists, or a list of tokens`);
  const absent = columns.filter((column) => !found.has(column.name) && !optional.includes(column.name));
  const isEmpty = found.size === 0 && (isList(sentence) ? sentence.length === 0 : entriesOf(sentence).length === 0);
  if (absent.length && !isEmpty) {
    throw new TaggerError(`a sentence lacks ${absent.map((column) => `\`${column.name}\``).join(", ")}`);
  }
  if (new Set([...found.values()].map((values) => values.length)).size > 1) {
    const lengths = [...found].map(([name, values]) => `\`${name}\` has ${values.length}`);
    throw new TaggerError(`columns of unequal length: ${lengths.join(", ")}`);
  }
  const present = columns.filter((column) => found.has(column.name));
  return new Map(present.map((column) => [column.name, CHECKS[column.type](found.get(column.name), column)]));
}

function listed(values, column) {
  if (!isList(values)) throw new TaggerError(`column \`${column.name}\`: found ${shown(values)}, expected a list`);
  return Array.from(values);
}

function columnsOfTokens(tokens, columns, optional) {
  if (!tokens.length) return new Map();
  const every = Array.from(tokens);
  if (every.every(isMapping)) {
    const given = columns.filter((column) => every.every((token) => has(token, column.source)));
    return new Map(given.map((column) => [column.name, every.map((token) => valueOf(token, column.source))]));
  }
  const rows = every.map((token) => (typeof token === "string" ? [token] : token));
  const strange = rows.find((row) => !isList(row));
  if (strange !== undefined) {
    throw new TaggerError(`found ${shown(strange)}, expected a token: all objects, or all lists of values`);
  }
  const needed = columns.filter((column) => !optional.includes(column.name));
  const layout = [needed, columns].find((one) => one.length === rows[0].length) ?? needed;
  const odd = rows.find((row) => row.length !== layout.length);
  if (odd !== undefined) {
    const names = layout.map((column) => column.name).join(" ");
    throw new TaggerError(`found a token of ${odd.length} values, expected ${layout.length} (\`${names}\`)`);
  }
  return new Map(layout.map((column, n) => [column.name, rows.map((row) => row[n])]));
}

const LONE_SURROGATE = /\p{Surrogate}/u;

function textsChecked(values, column) {
  for (const value of values) {
    if (typeof value !== "string") {
      throw new TaggerError(`column \`${column.name}\`: found ${shown(value)}, expected a text`);
    }
    if (SURROGATE.test(value) && LONE_SURROGATE.test(value)) {
      throw new TaggerError(`column \`${column.name}\`: ${shown(value)} holds half a surrogate pair, which is no text`);
    }
  }
  return values;
}

/** Texts as they are, and lists of texts joined by spaces. */
function bagsChecked(values, column) {
  const joined = values.map((value) =>
    typeof value === "string" ? value : textsChecked(listed(value, column), column).join(" "),
  );
  return textsChecked(joined, column);
}

/** A finite number, or a text of ASCII digits that spells one. NaN where it is missing, and may be. */
function numberChecked(value, column) {
  if (column.missing !== null && column.missing !== undefined && isMissing(value, column.missing)) return NaN;
  let number = NaN;
  if (typeof value === "number" || typeof value === "bigint") number = Number(value);
  else if (typeof value === "string") number = numberOf(trimmed(value));
  if (!Number.isFinite(number)) {
    throw new TaggerError(`column \`${column.name}\`: found ${shown(value)}, expected a finite number`);
  }
  if (column.type === "int" && !Number.isInteger(number)) {
    throw new TaggerError(`column \`${column.name}\`: found ${shown(value)}, expected a whole number`);
  }
  return number;
}

function trimmed(text) {
  return text.replace(/^[\t-\r\x1c-\x20]+|[\t-\r\x1c-\x20]+$/g, "");
}

function isMissing(value, mark) {
  if (typeof value === "string") return value === mark || ["nan", "null"].includes(value.toLowerCase());
  return value === null || value === undefined || Number.isNaN(value);
}

/** A list of numbers; numbers in a text, with commas or spaces between; or the digits 0 and 1. */
function vectorChecked(value, column) {
  let parts = value;
  if (typeof value === "string") {
    parts = value.length === column.size && /^[01]*$/.test(value) ? value.split("") : partsOfNumbers(value);
  }
  if (!isList(parts) || parts.length !== column.size) {
    throw new TaggerError(`column \`${column.name}\`: found ${shown(value)}, expected ${column.size} numbers`);
  }
  return Array.from(parts, (part) => numberChecked(part, column));
}

function partsOfNumbers(text) {
  return text.replaceAll(",", " ").split(PYTHON_SPACES).filter(Boolean);
}

/** A number or -Infinity for each assignment: in their order, nested or in a text, or by their names. */
function scoresChecked(value, column) {
  const names = column.assignments;
  if (!names.length) return [];
  let given = value;
  if (typeof value === "string") {
    const parts = partsOfNumbers(value);
    const named = parts.length > 0 && parts.every((part) => part.includes(":"));
    given = named ? new Map(parts.map((part) => cutAtLast(part, ":"))) : parts;
  }
  let numbers = [];
  if (isMapping(given)) {
    const same = entriesOf(given).length === names.length && names.every((name) => has(given, name));
    if (same) numbers = names.map((name) => valueOf(given, name));
  } else numbers = isList(given) ? flat(given) : [given];
  if (numbers.length !== names.length) {
    const some = `${names.slice(0, 5).join(", ")}${names.length > 5 ? ", …" : ""}`;
    const message = `found ${shown(value)}, expected ${names.length} scores, those of ${some}`;
    throw new TaggerError(`column \`${column.name}\`: ${message}`);
  }
  return numbers.map((number) =>
    ["-inf", "-infinity"].includes(String(number).toLowerCase()) ? -Infinity : numberChecked(number, column),
  );
}

function cutAtLast(text, sign) {
  const at = text.lastIndexOf(sign);
  return [text.slice(0, at), text.slice(at + sign.length)];
}

function flat(values) {
  return Array.from(values).flatMap((value) => (isList(value) ? flat(value) : [value]));
}

/** Names with weights: of a text of items `name:weight`, of a list of names, or of an object. Equal names add up. */
function weightedBagChecked(value, column) {
  const found = new Map();
  let items;
  if (typeof value === "string") items = partsOf(value).map((text) => itemOfText(text, column));
  else if (typeof value === "object" && value !== null) items = itemsOf(value, "", column);
  else throw new TaggerError(`column \`${column.name}\`: found ${shown(value)}, expected names, or names with weights`);
  for (const [name, weight] of items) {
    found.set(name, (found.get(name) ?? 0) + weight);
    if (!Number.isFinite(found.get(name))) {
      throw new TaggerError(`column \`${column.name}\`: the weights of \`${name}\` add up to no finite number`);
    }
  }
  return [...found];
}

/** `name`, `name:0.5` or, with escapes, `12\:30:2`. */
function itemOfText(text, column) {
  const [, name, weight] = /^((?:\\[^]|\\$|[^:\\])*)(?::([^]*))?$/.exec(text);
  return [name.replace(/\\([^])/g, "$1"), weight ? numberChecked(weight, column) : 1];
}

/** A number is the weight of its name, a text makes `name:text`, a list or object names that begin with `name:`. */
function itemsOf(value, prefix, column) {
  const named = value instanceof Set || isList(value) ? Array.from(value, (name) => [name, 1]) : entriesOf(value);
  return named.flatMap(([name, inner]) => {
    textsChecked([name], column);
    if (typeof inner === "string") return [[`${prefix}${name}:${inner}`, 1]];
    if (typeof inner === "boolean") return [[prefix + name, Number(inner)]];
    if (typeof inner === "number") return [[prefix + name, numberChecked(inner, column)]];
    if (typeof inner === "object" && inner !== null) return itemsOf(inner, `${prefix}${name}:`, column);
    throw new TaggerError(`column \`${column.name}\`: found ${shown(inner)}, expected a number, a text or a list`);
  });
}

function eachChecked(check) {
  return (values, column) => values.map((value) => check(value, column));
}

const CHECKS = {
  str: textsChecked,
  bag: bagsChecked,
  float: eachChecked(numberChecked),
  int: eachChecked(numberChecked),
  vector: eachChecked(vectorChecked),
  weighted_bag: eachChecked(weightedBagChecked),
  scores: eachChecked(scoresChecked),
};
