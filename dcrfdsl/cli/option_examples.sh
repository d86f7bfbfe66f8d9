# Command lines for the options that no example in a command's docstring shows. `command_reference` reads them.

dcrfdsl demo --sentences 10 --threads 2 --quiet

dcrfdsl new skip_chain --output skip.dcrf --quiet
dcrfdsl new --for train.txt --from 'conll(word, chunk)' --labels chunk --try --quiet

dcrfdsl check chunk.dcrf --stage start --set start.prior=none
dcrfdsl check shapes.dcrf --features shapes.py --quiet
dcrfdsl check chunk.dcrf --print graph
dcrfdsl check chunk.dcrf memm.dcrf --format sarif > check.sarif
dcrfdsl check chunk.dcrf --data train.txt --format json

dcrfdsl fmt shapes.dcrf --features shapes.py --quiet

dcrfdsl train chunk.dcrf train.txt -o start.model --stage start --threads 2
dcrfdsl train chunk.dcrf train.txt -o chunk.model --dev dev.txt --tune --search random --trials 5 --seed 7
dcrfdsl train chunk.dcrf train.txt -o chunk.model --dev dev.txt --tune --best "accuracy(chunk)" --at-least "accuracy(chunk)=0.5"
dcrfdsl train shapes.dcrf train.txt -o shapes.model --features shapes.py --quiet
dcrfdsl train chunk.dcrf train.txt -o chunk.model --checkpoint 600
dcrfdsl train few.dcrf train.txt -o few.model --unlabelled test.txt
dcrfdsl train chunk.dcrf train.txt -o chunk.model --dev dev.txt --json > iterations.jsonl
dcrfdsl train chunk.dcrf train.txt dev.txt -o chunk.model --workers 2
dcrfdsl train chunk.dcrf train.txt -o chunk.model --cluster tcp://10.0.0.1:8786 --cache /shared/parts

dcrfdsl cv chunk.dcrf train.txt --folds 2 --stage start --stage likelihood --set infer=exact --seed 7
dcrfdsl cv chunk.dcrf train.txt --folds 2 --group word --by-label --confusion --threads 2 --json --quiet
dcrfdsl cv shapes.dcrf train.txt --folds 2 --features shapes.py

dcrfdsl tag chunk.model test.txt --json --marginals --clique-marginals > distributions.jsonl
dcrfdsl tag chunk.model test.txt --decode marginal --threads 2 --quiet
cat test.txt | dcrfdsl tag chunk.model --no-flush > tagged.txt
dcrfdsl tag chunk.model test.txt --flush | head -n 1
dcrfdsl tag boosted.model test.txt --rounds 3
dcrfdsl tag careful.model test.txt --sets
dcrfdsl tag shapes.model test.txt --features shapes.py
dcrfdsl tag upos.model gold.conllu --apart > tagged.conllu

dcrfdsl suggest chunk.model test.txt --diversity 0 --longest 100 --threads 2 --quiet
dcrfdsl suggest names.model names.txt --by margin --label-studio -o tasks.json
dcrfdsl suggest shapes.model test.txt --features shapes.py

dcrfdsl eval boosted.model test.txt --rounds 3
dcrfdsl eval shapes.model test.txt --features shapes.py --quiet

dcrfdsl compare chunk.model boosted.model gold.txt --level 0.9 --draws 99 --seed 7 --threads 2 --json -q
dcrfdsl compare shapes.model chunk.model gold.txt --features shapes.py

dcrfdsl report chunk.model gold.txt -o report.html --level 0.9 --draws 99 --seed 7 --threads 2 --quiet
dcrfdsl report chunk.model gold.txt --output report.html --errors 50 --explain 5
dcrfdsl report shapes.model gold.txt -o report.html --features shapes.py

dcrfdsl show chunk.model --top 1000 --json --quiet > weights.jsonl
dcrfdsl show shapes.model --features shapes.py

dcrfdsl why chunk.model test.txt --at 1 --label chunk --json --quiet
dcrfdsl why shapes.model test.txt --at 1 --features shapes.py

dcrfdsl probability chunk.model partly-tagged.txt --given 'chunk[1] is B' --threads 1 --quiet
dcrfdsl probability shapes.model test.txt 'chunk[1] in {B, O}' --features shapes.py

dcrfdsl calibrate chunk.model dev.txt --of tokens --bins 5 --threads 1 --json > reliability.json
dcrfdsl calibrate shapes.model dev.txt -o calibrated.model --features shapes.py --quiet

dcrfdsl compile chunk.dcrf train.txt --stage start --set start.prior=none --json --quiet
dcrfdsl compile shapes.dcrf train.txt --features shapes.py --to kernels --cpu generic

dcrfdsl unroll chunk.dcrf train.txt --stage start --set start.infer=exact --quiet
dcrfdsl unroll shapes.dcrf train.txt --features shapes.py

dcrfdsl convert grmm.txt --from grmm --columns pos,chunk,marks --quiet > factorial.dcrf
dcrfdsl convert crf.py --columns part,attributes --label part -o chain.dcrf
dcrfdsl convert train.txt --template chunk.dcrf --to jsonl

dcrfdsl export boosted.model -o boosted.py --rounds 3 --json --quiet
dcrfdsl export shapes.model -o small.model --format model --features shapes.py --bits 32

dcrfdsl infer grid.uai --method trp --max-iterations 500 --damping 0.5 --seed 1
dcrfdsl infer grid.uai --method gibbs --samples 5000 --burn-in 500 --thin 2 --quiet
dcrfdsl infer grid.uai --task map --nodes 1000
dcrfdsl infer grid.uai --features shapes.py
