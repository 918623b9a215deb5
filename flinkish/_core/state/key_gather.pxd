# Keys of rows as columns: the reverse of interning.
