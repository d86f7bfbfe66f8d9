// Line ends and indentation of `.dcrf` templates as tokens without width.
//
// A statement begins in column 0, and its block is what is indented below it, however far. So the state is one bit:
// whether a block is open. Empty lines and lines of a comment count for nothing. Inside brackets the grammar expects none
// of these tokens, and a line end is a blank.

#include "tree_sitter/alloc.h"
#include "tree_sitter/parser.h"

enum Token { NEWLINE, INDENT, DEDENT };

void *tree_sitter_dcrf_external_scanner_create(void) {
  return ts_calloc(1, sizeof(bool));
}

void tree_sitter_dcrf_external_scanner_destroy(void *payload) { ts_free(payload); }

unsigned tree_sitter_dcrf_external_scanner_serialize(void *payload, char *buffer) {
  buffer[0] = (char)*(bool *)payload;
  return 1;
}

void tree_sitter_dcrf_external_scanner_deserialize(void *payload, const char *buffer, unsigned length) {
  *(bool *)payload = length > 0 && buffer[0];
}

// Whether the rest of this line has code. Nothing that is read here is part of a token.
static bool skip_to_code(TSLexer *lexer, bool *line_end, bool *indented) {
  *line_end = *indented = false;
  for (;;) {
    switch (lexer->lookahead) {
      case '\n':
        *line_end = true;
        *indented = false;
        break;
      case ' ':
      case '\t':
        *indented = true;
        break;
      case '\r':
      case '\f':
        break;
      case '#':
        if (!*line_end) return false;  // a comment at the end of code is a token of its own, and comes first
        while (lexer->lookahead != '\n' && !lexer->eof(lexer)) lexer->advance(lexer, true);
        continue;
      default:
        if (lexer->eof(lexer)) {
          *line_end = true;
          *indented = false;
        }
        return true;
    }
    lexer->advance(lexer, true);
  }
}

bool tree_sitter_dcrf_external_scanner_scan(void *payload, TSLexer *lexer, const bool *valid) {
  bool *in_block = payload, line_end, indented;
  lexer->mark_end(lexer);
  if (!skip_to_code(lexer, &line_end, &indented) || !line_end) return false;
  if (valid[NEWLINE] && valid[INDENT] && valid[DEDENT]) {  // all are tried after an error
    if (indented || lexer->eof(lexer)) return false;
    lexer->mark_end(lexer);  // a token without width would be ignored here; the next statement begins anew
    *in_block = false;
    lexer->result_symbol = NEWLINE;
    return true;
  }
  if (valid[INDENT] && indented) {
    *in_block = true;
    lexer->result_symbol = INDENT;
    return true;
  }
  if (valid[NEWLINE]) {
    lexer->result_symbol = NEWLINE;
    return true;
  }
  if (valid[DEDENT] && *in_block && !indented) {
    *in_block = false;
    lexer->result_symbol = DEDENT;
    return true;
  }
  return false;
}
