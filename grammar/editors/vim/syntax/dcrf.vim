" Vim syntax file of dcrf templates. Made by grammar/editors/generate.py: change that, not this.
if exists("b:current_syntax")
  finish
endif
syn case match
syn spell notoplevel
syn match dcrfError ~\S~
syn match dcrfPunctuation ~[][():.,]~
syn match dcrfOperator ~\.\.\|!=\|[<>]=\?\|[=&+-]~
syn match dcrfNumber ~[+-]\?\%(\d*\.\d\+\%([eE][+-]\?\d\+\)\?\|\d\+[eE][+-]\?\d\+\|\d\+\)~
syn match dcrfName ~\%(\d\)\@!\k\+~
syn match dcrfConstant ~\<\%(all\|inf\|no\|none\|off\|seen\|yes\)\>~
syn match dcrfFunction ~\%(\d\)\@!\k\+(\@=~
syn match dcrfClause ~\<\%(after\|as\|except\|for\|from\|initially\|is\|locked\|of\|over\|to\|tune\|up\|when\|where\|with\)\>~
syn match dcrfOperatorWord ~\<\%(and\|else\|has\|if\|in\|is\|matches\|not\|or\)\>~
syn match dcrfOperatorWord ~\<is\%(\s\+not\)\?\>~ nextgroup=dcrfState,dcrfString skipwhite
syn match dcrfClause ~\<\%(initially\)\>~ nextgroup=dcrfState,dcrfString skipwhite
syn match dcrfClause ~\<\%(as\|after\)\>~ nextgroup=dcrfDeclared skipwhite
syn match dcrfDeclared ~\%(\d\)\@!\k\+~ contained
syn match dcrfMethod ~\%(\d\)\@!\k\+~ contained
syn match dcrfStrayState ~[^[:space:],}]~ contained
syn match dcrfState ~[^][[:space:]{}(),"#:=&]\+~ contained
syn match dcrfRegex ~/\%(\\.\|\[\%(\\.\|[^]\\]\)*\]\|[^/\\[]\)\+/i\?~
syn match dcrfString ~"\%(\\.\|[^"\\]\)*"~
syn match dcrfStatement ~^\<\%(dcrf\|data\|label\|latent\|memory\|view\|lexicon\|let\|use\|features\|clique\|segment\|piece\|forbid\|require\|once\|runs\|expect\|infer\|decode\|train\|evaluate\)\>~
syn match dcrfStatement ~^\<\%(label\|latent\|memory\|view\|lexicon\|let\|features\|piece\)\>~ nextgroup=dcrfDeclared skipwhite
syn match dcrfStatement ~^\<\%(data\|infer\|decode\|train\|evaluate\)\>~ nextgroup=dcrfMethod skipwhite
syn match dcrfComment ~#.*~
syn match dcrfDoc ~^##.*~
syn match dcrfComma ~,~ contained
syn region dcrfStates matchgroup=dcrfPunctuation start=~{~ end=~}~ contains=dcrfStrayState,dcrfState,dcrfComma,dcrfString,dcrfComment
syn sync fromstart
hi def link dcrfClause Keyword
hi def link dcrfComma Delimiter
hi def link dcrfComment Comment
hi def link dcrfConstant Boolean
hi def link dcrfDeclared Identifier
hi def link dcrfDoc SpecialComment
hi def link dcrfError Error
hi def link dcrfFunction Function
hi def link dcrfMethod Function
hi def link dcrfName Normal
hi def link dcrfNumber Number
hi def link dcrfOperator Operator
hi def link dcrfOperatorWord Operator
hi def link dcrfPunctuation Delimiter
hi def link dcrfRegex String
hi def link dcrfState Constant
hi def link dcrfStatement Statement
hi def link dcrfStrayState Error
hi def link dcrfString String
let b:current_syntax = "dcrf"
