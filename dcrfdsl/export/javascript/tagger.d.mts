// Types of an exported tagger.

/** A list of tokens, each an object, a list of values or a text; or an object of columns. */
export type Sentence = readonly unknown[] | Readonly<Record<string, readonly unknown[]>> | ReadonlyMap<string, readonly unknown[]>;
/** Labels known beforehand: a list, or by label; null or `_` is free. */
export type Given = readonly (string | null)[] | Readonly<Record<string, readonly (string | null)[] | null>>;
export type ByLabel<T> = Record<string, T[]>;

/** A segment of tokens, from `first` to `last`, both included and counted from 0. */
export interface Span {
  type: string;
  first: number;
  last: number;
  /** That exactly this segment is there, from 0 to 1. */
  probability: number;
}

/** A segment of a text: `text === whole.slice(start, end)`. */
export interface Annotation {
  type: string;
  text: string;
  start: number;
  end: number;
  probability: number;
  label: string;
}

/** Input that cannot be tagged, or a model that cannot be read. */
export class TaggerError extends Error {}

export class Tagger {
  readonly labels: readonly string[];
  readonly columns: readonly string[];
  readonly states: Readonly<Record<string, readonly string[]>>;
  /** The best labels: a list, or by label if there are several. */
  tag(tokens: Sentence, given?: Given | null): string[] | ByLabel<string>;
  /** The best labels by label, or null if no labelling is possible. */
  tagged(tokens: Sentence, given?: Given | null): ByLabel<string> | null;
  /** The probability of each state at each token, in the order of `states`. */
  marginals(tokens: Sentence, given?: Given | null): ByLabel<number[]>;
  /** The best labels by label, and the probability of all of them together. */
  best(tokens: Sentence, given?: Given | null): { labels: ByLabel<string>; probability: number };
  /** The segments of each label that has some. */
  spans(tokens: Sentence, given?: Given | null): ByLabel<Span>;
  /** The segments of a running text. */
  annotate(text: string): Annotation[];
  /** The tokens of a running text. */
  tokenize(text: string): { text: string; start: number; end: number }[];
}
