/// <reference types="tree-sitter-cli/dsl" />
// A tree-sitter grammar of `.dcrf` templates, for editors that colour and fold by a syntax tree. It reads what
// ../../dcrf.lark reads, and is a little laxer: messages are the business of `dcrfdsl check`. Words are names wherever no
// keyword can stand, as `decode` is in a block of settings. Line ends and indentation are tokens of src/scanner.c.

const commaSep1 = (rule) => seq(rule, repeat(seq(",", rule)));
const row = (rule) => seq(commaSep1(rule), optional(","));

module.exports = grammar({
  name: "dcrf",

  externals: ($) => [$._newline, $._indent, $._dedent],
  extras: ($) => [/\s/, $.doc_comment, $.comment],
  word: ($) => $.name,
  supertypes: ($) => [$.statement],

  rules: {
    template: ($) => repeat($.statement),

    // first, so that it wins where a bare state could be the same text
    name: () => /[\p{L}_][\p{L}\p{M}\p{N}_]*/,
    doc_comment: () => token(prec(1, /##[^\n]*/)),
    comment: () => token(prec(0, /#[^\n]*/)),

    statement: ($) =>
      choice(
        $.edition, $.data, $.label, $.latent, $.memory, $.view, $.lexicon, $.let, $.use, $.features, $.clique, $.segment,
        $.piece, $.forbid, $.require, $.once, $.runs, $.expect, $.infer, $.decode, $.train, $.evaluate,
      ),

    edition: ($) => seq("dcrf", $.integer, $._newline),

    // what is observed, what is labelled
    data: ($) => seq("data", $.call, $._newline),
    label: ($) =>
      seq(
        "label", field("name", $.name), optional(seq("in", $._domain)), optional(seq("for", $.reference)),
        optional($.with), $._newline,
      ),
    latent: ($) => seq("latent", field("name", $.name), "in", $._domain, optional($.with), $._newline),
    memory: ($) =>
      seq(
        "memory", field("name", $.name), optional(seq("in", $._domain)), "=", $._value_if,
        optional(seq("initially", $._state)), $._newline,
      ),
    view: ($) => seq("view", field("name", $.name), "=", $._value_if, $._newline),
    lexicon: ($) => seq("lexicon", field("name", $.name), "=", $.string, optional($.with), $._newline),
    let: ($) => seq("let", field("name", $.name), "=", $._value, optional(seq("tune", $.call)), $._newline),
    use: ($) => seq("use", $.string, $._newline),

    // what is looked at, what depends on what
    features: ($) => seq("features", field("name", $.name), optional($.with), list($, $._feature)),
    clique: ($) =>
      seq(
        "clique", $.sites, optional($.where), optional($.as), optional($.with),
        choice($._newline, seq(":", row($._feature), $._newline), seq(":", $.clique_block)),
      ),
    clique_block: ($) => seq($._indent, repeat1(seq(choice($.where, $.with, row($._feature)), $._newline)), $._dedent),
    segment: ($) =>
      seq(
        "segment", $.site, optional(seq("from", $._value)), "up", "to", $._value, optional($.as), optional($.with),
        list($, $._feature),
      ),
    piece: ($) => seq("piece", field("name", $.name), "over", $.sites, list($, $.member)),
    forbid: ($) => seq("forbid", $._condition, optional(seq("when", $._condition)), optional($.as), $._newline),
    require: ($) => seq("require", $._condition, optional(seq("when", $._condition)), optional($.as), $._newline),
    expect: ($) =>
      seq("expect", $._condition, optional(seq("when", $._condition)), optional($.as), optional($.with), $._newline),
    once: ($) =>
      seq("once", $.reference, optional(seq("except", $.states)), optional($.as), $._newline),
    runs: ($) =>
      seq(
        "runs", "of", $.reference, optional(seq("is", $._state)), optional(seq("from", $._value)),
        optional(seq("up", "to", $._value)), optional($.as), optional($.with), $._newline,
      ),

    sites: ($) => commaSep1($.site),
    site: ($) => seq(field("variable", $.name), optional($.place)),
    where: ($) => seq("where", $._condition),
    with: ($) => prec.right(seq("with", commaSep1($.setting))),
    as: ($) => seq("as", field("name", $.name)),
    member: ($) => seq(optional("locked"), field("clique", $.name), optional($.place)),

    // how to infer and train
    infer: ($) => seq("infer", $.call, choice($._newline, list($, $.setting))),
    decode: ($) => seq("decode", $.call, choice($._newline, list($, $.setting))),
    train: ($) =>
      seq("train", $.call, optional($.as), optional(seq("after", $.reference)), choice($._newline, list($, $.setting))),
    evaluate: ($) => seq("evaluate", choice(seq(row($.call), $._newline), list($, $.call))),

    setting: ($) => seq($.key, "=", $._value),
    key: ($) => seq($.name, repeat(seq(".", $.name))),

    // domains and states
    _domain: ($) => choice($.states, $.integer, $.call, $.string),
    states: ($) => seq("{", row($._state), "}"),
    _state: ($) => choice(alias($.name, $.state), $.state, $.string),
    state: () => /[^\s{}(),"#:=&\[\]]+/,

    // places
    place: ($) => seq("[", choice($._offsets, $.window, $.position), "]"),
    _offsets: ($) => row($.integer),
    window: ($) => seq($.integer, "..", $.integer),
    position: ($) => seq($.name, optional(choice($.integer, seq(choice("+", "-"), $.integer)))),

    // features and conditions
    _feature: ($) => choice($._unary, $.cross),
    cross: ($) => seq($._unary, repeat1(seq("&", $._unary))),
    _value_if: ($) => choice($._branch, $.if_else),
    if_else: ($) => seq($._branch, "if", $._condition, "else", $._branch),
    _branch: ($) => choice($._condition, $.string, $.integer),
    _condition: ($) => choice($._unary, $.and, $.or),
    or: ($) => prec.left(1, seq($._condition, "or", $._condition)),
    and: ($) => prec.left(2, seq($._condition, "and", $._condition)),
    _unary: ($) => choice($.not, $.group, $._test),
    not: ($) => prec(3, seq("not", $._unary)),
    group: ($) => seq("(", $._condition, ")"),
    _test: ($) => choice($._term, $.matches, $.is, $.in, $.comparison),
    matches: ($) => seq($._term, choice("matches", "has"), $.regex),
    is: ($) => seq($._term, "is", optional("not"), $._state),
    in: ($) => seq($._term, optional("not"), "in", choice($.reference, $.states)),
    comparison: ($) =>
      seq(choice($._term, $.difference), choice("=", "!=", "<", "<=", ">", ">="), choice($._term, $._number)),
    difference: ($) => seq($._term, "-", $._term),
    _term: ($) => choice($.reference, $.apply),
    reference: ($) => prec.right(seq($.name, optional($.place))),
    apply: ($) => prec.right(seq(field("function", $.name), $.arguments, optional($.place))),

    // calls
    call: ($) => prec.right(seq(field("function", $.name), optional($.arguments))),
    arguments: ($) => seq("(", optional(row($._argument)), ")"),
    _argument: ($) => choice($.named_argument, $.typed_argument, $._value),
    named_argument: ($) => seq(field("name", $.name), "=", $._value),
    typed_argument: ($) => seq(field("name", $.name), ":", $.call),
    _value: ($) => choice($._term, $.range, $._number, $.string, $.regex),
    range: ($) => seq($.integer, "..", $.integer),

    _number: ($) => choice($.integer, $.float),
    integer: () => /[+-]?[0-9]+/,
    float: () => /[+-]?([0-9]*\.[0-9]+([eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+)/,
    string: () => /"(\\.|[^"\\\r\n])*"/,
    regex: () => /\/(\\.|\[(\\.|[^\]\\\r\n])*\]|[^\/\\\r\n\[])+\/i?/,
  },
});

/** A list after a colon: on the line of the statement, or in one indented block. */
function list($, item) {
  const block = seq($._indent, repeat1(seq(row(item), $._newline)), $._dedent);
  return seq(":", choice(seq(row(item), $._newline), block));
}
