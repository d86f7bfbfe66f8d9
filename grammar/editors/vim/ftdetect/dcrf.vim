autocmd BufNewFile,BufRead *.dcrf setfiletype dcrf
