# Work at rows other than the current one: those of broadcast state, and those of all keys in turn.
#
# Rows stay where they are by number, whatever is done meanwhile, until the next commit.
