"""Values of Arrow columns as Python objects: for the floor only, nothing to call from Python."""
