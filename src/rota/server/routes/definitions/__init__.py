"""Operations on job types and node types, one by one or as a file has them."""
