"""The program of exported taggers, which `tagger_files` writes out as one file. Its modules need numpy alone."""
