; Made by grammar/editors/generate.py: change that, not this.
["dcrf" "data" "label" "latent" "memory" "view" "lexicon" "let" "use" "features" "clique" "segment" "piece" "forbid" "require" "once" "runs" "expect" "infer" "decode" "train" "evaluate"] @keyword
["after" "as" "except" "for" "from" "initially" "is" "locked" "of" "over" "to" "tune" "up" "when" "where" "with"] @keyword.modifier
["and" "else" "has" "if" "in" "is" "matches" "not" "or"] @keyword.operator

((reference (name) @variable) (#not-match? @variable "^(all|inf|no|none|off|seen|yes)$"))
((reference (name) @constant.builtin) (#match? @constant.builtin "^(all|inf|no|none|off|seen|yes)$"))
(site variable: (name) @variable)
(member clique: (name) @variable)
(position (name) @variable)
(key (name) @property)
(named_argument name: (name) @variable.parameter)
(typed_argument name: (name) @variable.parameter)
(call function: (name) @function)
(apply function: (name) @function)
(as name: (name) @type)
(label name: (name) @type)
(latent name: (name) @type)
(memory name: (name) @type)
(view name: (name) @type)
(lexicon name: (name) @type)
(let name: (name) @type)
(features name: (name) @type)
(piece name: (name) @type)

(state) @constant
(string) @string
(regex) @string.regexp
[(integer) (float)] @number
(comment) @comment
(doc_comment) @comment.documentation

["=" "!=" "<" "<=" ">" ">=" ".." "&" "-" "+"] @operator
["(" ")" "[" "]" "{" "}"] @punctuation.bracket
["," ":" "."] @punctuation.delimiter
