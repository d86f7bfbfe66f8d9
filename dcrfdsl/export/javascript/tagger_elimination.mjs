// Exact inference: variable elimination in log space over the factor graph of a sentence.
//
// Variables are summed out (or maximised) one after another, position by position from left to right. With the tables φ
// that touch variable v, the messages m of variables that were eliminated before, and the variables n that share a table
// with v,
//
//     joint(n, v) = Σ log φ + Σ m          message(n) = log Σ_v exp joint(n, v)       [or max_v]
//
// so that the messages without n left add up to log Z. Backwards, p(n, v) = exp(joint − message) · p(n) gives every
// marginal without a division. The steps depend on the length of a sentence alone and are kept. Source: Sutton and
// McCallum, An Introduction to Conditional Random Fields, section 4.1.

const LAST = -1; // the `position` of a clique that lies at the last anchor alone
const RESCALED = 16; // every so many steps a message is brought back to a maximum of 0, so that no digits are lost

/** Where the instances of a clique are read in a sentence of `length` positions: the first anchor, and behind the last. */
function anchorsOf(clique, length) {
  const [low, high] = [Math.min(...clique.offsets), Math.max(...clique.offsets)];
  const first = clique.padded ? -high : Math.max(0, -low);
  const end = clique.padded ? length - low : Math.min(length, length - high);
  if (clique.position === null) return [first, end];
  const at = clique.position === LAST ? length - 1 : clique.position;
  return at >= first && at < end ? [at, at + 1] : [0, 0];
}

/** For each entry of a joint table with these `cards`, the entry of a table over some of its axes; null: the same one. */
const mapOf = (() => {
  const known = new Map();
  return (cards, axes) => {
    const name = `${cards}|${axes}`;
    if (!known.has(name)) {
      const strides = cards.map(() => 0);
      let size = 1;
      for (let n = axes.length - 1; n >= 0; n--) {
        strides[axes[n]] += size;
        size *= cards[axes[n]];
      }
      const map = new Int32Array(cards.reduce((product, card) => product * card, 1));
      for (let entry = 0; entry < map.length; entry++) {
        for (let rest = entry, axis = cards.length - 1; axis >= 0; axis--) {
          map[entry] += strides[axis] * (rest % cards[axis]);
          rest = Math.floor(rest / cards[axis]);
        }
      }
      known.set(name, map.every((at, entry) => at === entry) && size === map.length ? null : map);
    }
    return known.get(name);
  };
})();

/**
 * The elimination of a sentence of `length` positions, with the variables t · M + m of M variables a position.
 *
 * cards: states of each of the M variables.   order: all variables, in the order of their elimination.   whole: those
 * of the M that are one variable of the whole sentence, at its first position.
 *
 * Each step eliminates the last variable of its `scope`; the others come in falling order of their own elimination.
 * Its `parts` are tables, of a kind and a row, or the messages of earlier steps (kind -1).
 */
function programFor(length, cliques, cards, order, whole) {
  const width = cards.length;
  const rank = new Map(order.map((variable, n) => [variable, n]));
  const waiting = order.map(() => []);
  const firstOf = (scope) => scope.reduce((least, variable) => Math.min(least, rank.get(variable)), order.length);
  for (const clique of cliques) {
    const [start, end] = anchorsOf(clique, length);
    for (let anchor = start; anchor < end; anchor++) {
      const places = clique.offsets.map((offset) => anchor + offset);
      const pattern = places.map((t) => (t < 0 ? -1 : Number(t >= length)));
      if (!pattern.includes(0)) continue;
      const scope = [];
      clique.variables.forEach((variable, n) => {
        if (pattern[n] === 0) scope.push(whole.has(variable) ? variable : places[n] * width + variable);
      });
      const row = clique.firstRow === null ? 0 : anchor + clique.firstRow;
      waiting[firstOf(scope)].push([scope, clique.kinds.get(pattern.join()), row]);
    }
  }
  return order.map((variable, n) => {
    const tables = waiting[n].sort((one, other) => one[0].length - other[0].length); // small ones are added up first
    waiting[n] = null;
    const around = new Set(tables.flatMap(([scope]) => scope));
    around.delete(variable);
    const others = [...around].sort((one, other) => rank.get(other) - rank.get(one));
    const scope = [...others, variable];
    const states = scope.map((one) => cards[one % width]);
    const axisOf = new Map(scope.map((one, axis) => [one, axis]));
    const parts = tables.map(([ofTable, kind, row]) => ({
      kind,
      row,
      map: mapOf(states, ofTable.map((one) => axisOf.get(one))),
    }));
    if (others.length) waiting[firstOf(others)].push([others, -1, n]);
    return { scope, states, size: states.reduce((product, card) => product * card, 1), parts };
  });
}

/** The sum of all tables and messages of a step. tables: of each kind, { numbers, size }: rows of `size` numbers. */
function jointTable(step, tables, messages, buffer) {
  const joint = buffer.subarray(0, step.size);
  joint.fill(0);
  for (const { kind, row, map } of step.parts) {
    const from = kind < 0 ? messages[row] : tables[kind].numbers;
    const start = kind < 0 ? 0 : row * tables[kind].size;
    if (map === null) for (let n = 0; n < joint.length; n++) joint[n] += from[start + n];
    else for (let n = 0; n < joint.length; n++) joint[n] += from[start + map[n]];
  }
  return joint;
}

function bufferFor(program) {
  return new Float64Array(program.reduce((most, step) => Math.max(most, step.size), 1));
}

/** log Σ exp over the last axis; -Infinity where every entry is. */
function summedOut(joint, card) {
  const message = new Float64Array(joint.length / card);
  for (let n = 0, start = 0; n < message.length; n++, start += card) {
    let peak = -Infinity;
    for (let k = start; k < start + card; k++) if (joint[k] > peak) peak = joint[k];
    if (peak === -Infinity) {
      message[n] = peak;
      continue;
    }
    let sum = 0;
    for (let k = start; k < start + card; k++) sum += Math.exp(joint[k] - peak);
    message[n] = Math.log(sum) + peak;
  }
  return message;
}

/** Passes all messages. `reduce(step, number, joint)` gives one. Returns them, what was taken from each, and log Z. */
function forward(program, tables, reduce) {
  const buffer = bufferFor(program);
  const messages = [];
  const taken = new Float64Array(program.length);
  let logZ = 0;
  program.forEach((step, n) => {
    const message = reduce(step, n, jointTable(step, tables, messages, buffer));
    if (step.scope.length === 1) logZ += message[0];
    else if (n % RESCALED === 0) {
      const peak = message.reduce((most, number) => Math.max(most, number), -Infinity);
      if (peak > -Infinity) {
        taken[n] = peak;
        logZ += peak;
        for (let k = 0; k < message.length; k++) message[k] -= peak;
      }
    }
    messages.push(message);
  });
  return { messages, taken, logZ };
}

/** log Z. */
function logPartition(program, tables) {
  return forward(program, tables, (step, n, joint) => summedOut(joint, step.states[step.states.length - 1])).logZ;
}

/** p(variable | x): a Map from each variable to its probabilities, all 0 if no labelling is possible; and log Z. */
function marginalTables(program, tables) {
  const cardOf = (step) => step.states[step.states.length - 1];
  const { messages, taken, logZ } = forward(program, tables, (step, n, joint) => summedOut(joint, cardOf(step)));
  const buffer = bufferFor(program);
  const outer = new Map();
  const marginals = new Map();
  for (let n = program.length - 1; n >= 0; n--) {
    const step = program[n];
    const card = cardOf(step);
    const belief = jointTable(step, tables, messages, buffer);
    const around = outer.get(n);
    outer.delete(n);
    const own = new Float64Array(card);
    for (let m = 0, k = 0; m < messages[n].length; m++) {
      const message = messages[n][m] + taken[n];
      const shift = message === -Infinity ? 0 : message;
      const weight = around === undefined ? Number(logZ > -Infinity) : around[m];
      for (let state = 0; state < card; state++, k++) {
        belief[k] = Math.exp(belief[k] - shift) * weight;
        own[state] += belief[k];
      }
    }
    marginals.set(step.scope[step.scope.length - 1], own);
    for (const { kind, row, map } of step.parts) {
      if (kind >= 0) continue;
      const received = new Float64Array(messages[row].length);
      for (let k = 0; k < belief.length; k++) received[map === null ? k : map[k]] += belief[k];
      outer.set(row, received);
    }
  }
  return { marginals, logZ };
}

/**
 * The best labelling: a Map from each variable to its state; and its score, -Infinity if there is none.
 *
 * summed: whether a variable is summed out; such variables come first in the order, and get no state.
 */
function bestStates(program, tables, summed) {
  const choices = new Map();
  const { logZ: score } = forward(program, tables, (step, n, joint) => {
    const card = step.states[step.states.length - 1];
    if (summed(step.scope[step.scope.length - 1])) return summedOut(joint, card);
    const message = new Float64Array(joint.length / card);
    const choice = new Int32Array(message.length);
    for (let m = 0, start = 0; m < message.length; m++, start += card) {
      let best = start;
      for (let k = start + 1; k < start + card; k++) if (joint[k] > joint[best]) best = k;
      message[m] = joint[best];
      choice[m] = best - start;
    }
    choices.set(n, choice);
    return message;
  });
  const states = new Map();
  for (let n = program.length - 1; n >= 0; n--) {
    if (!choices.has(n)) continue;
    const { scope, states: cards } = program[n];
    let at = 0;
    for (let axis = 0; axis < scope.length - 1; axis++) at = at * cards[axis] + states.get(scope[axis]);
    states.set(scope[scope.length - 1], choices.get(n)[at]);
  }
  return { states, score };
}
