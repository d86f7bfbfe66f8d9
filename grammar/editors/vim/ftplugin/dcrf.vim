" Comments, indentation by four blanks, and the checker behind :make.
if exists("b:did_ftplugin")
  finish
endif
let b:did_ftplugin = 1

setlocal comments=:##,:# commentstring=#\ %s
setlocal expandtab shiftwidth=4 softtabstop=4
setlocal formatoptions-=t
let &l:makeprg = 'dcrfdsl check --quiet %:S'
" error[unknown-name]: the message, then ` --> file:line:column`
setlocal errorformat=%E%trror[%*[^]]]:\ %m,%W%tarning[%*[^]]]:\ %m,%C\ %#-->\ %f:%l:%c,%C%.%#,%-G%.%#
if executable('dcrfdsl')
  let &l:formatprg = 'dcrfdsl fmt -'
endif

let b:undo_ftplugin = "setlocal comments< commentstring< expandtab< shiftwidth< softtabstop< formatoptions< makeprg< errorformat< formatprg<"
