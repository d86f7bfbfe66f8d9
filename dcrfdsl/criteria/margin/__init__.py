"""The hidden Markov SVM: the margin between the known labelling and every wrong one."""
