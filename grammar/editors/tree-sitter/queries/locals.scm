(template) @local.scope

(label name: (name) @local.definition)
(latent name: (name) @local.definition)
(memory name: (name) @local.definition)
(view name: (name) @local.definition)
(lexicon name: (name) @local.definition)
(let name: (name) @local.definition)
(features name: (name) @local.definition)
(piece name: (name) @local.definition)
(as name: (name) @local.definition)
(data (call (arguments (reference (name) @local.definition))))
(data (call (arguments (named_argument name: (name) @local.definition))))
(data (call (arguments (typed_argument name: (name) @local.definition))))

(reference (name) @local.reference)
(site variable: (name) @local.reference)
(member clique: (name) @local.reference)
