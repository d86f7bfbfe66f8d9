"""What a specification consists of: labels, cliques, features, terms and conditions."""
