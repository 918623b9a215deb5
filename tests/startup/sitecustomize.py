"""What Python processes of the tests do first: look past the zip that Spark puts before all else.

It has pyspark's sources alone, so every process compiles what it imports from there, which takes a
second; the installed pyspark is the same and compiled.  Of that second there is one for each start
of a query with state, which Spark gives 10 s, however busy the machine is.
"""

import sys

sys.path[:] = [path for path in sys.path if not path.endswith(("pyspark.zip", "-src.zip"))]
