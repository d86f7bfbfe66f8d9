[
  (features)
  (clique)
  (segment)
  (piece)
  (infer)
  (decode)
  (train)
  (evaluate)
] @fold
