"""Taking the machines of a cloud pool to what its group now makes, without ending anybody's work."""
