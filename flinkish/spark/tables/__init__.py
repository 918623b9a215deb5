"""Tables on a worker's disk: a cache of state whose truth is Spark's.

A table is a directory of files, named by the nonce of the state that it holds.  A task that wants
to use it renames it to a private name first, changes it, and renames it to the nonce of the new
state, which the same batch writes to Spark.  So no change is ever visible under an old nonce: a
retry, a rollback, a zombie or a copy of the checkpoint simply finds nothing and builds the table
from the log.

Layout: LOCAL_DIR/flinkish-USER-BOOT/QUERY/OPERATOR/KEY_GROUP/NONCE/FILE.  The boot id is in the
path because files that a crash of the machine may have torn must not be believed.

Invariants:
  T1  A private directory is locked (`flock`) by the process that holds it, from before that process
      touches a file in it until it is removed or published.  Only a process that has the lock
      removes files.  Locks end with their process, in whatever namespace it runs.
  T2  A forked child closes the descriptors of its parent's locks at once, and does not unlock
      them, since that would unlock them for its parent, too.
  T3  Everything below a root is reached through the descriptor of the root, which was checked: a
      directory of this user that nobody else may enter.
  T4  A table is believed only if its header names the nonce under which it was found, and the
      checksum of headers and file sizes is right (`StateTable.seal`).  What was damaged beside the
      headers is noticed when it is used: `DamagedTable` ends the attempt, which discards the table.
  T5  Removing a published table is always allowed: it costs a rebuild, never a result.
"""

from typing import TYPE_CHECKING

from flinkish.common.lazy import lazy_names

if TYPE_CHECKING:
    from flinkish.spark.tables.files import TableFiles, new_nonce
    from flinkish.spark.tables.private import PrivateTable, state_name
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "flinkish.spark.tables.files": ("TableFiles", "new_nonce"),
            "flinkish.spark.tables.private": ("PrivateTable", "state_name"),
        },
    )

__all__ = ["PrivateTable", "TableFiles", "new_nonce", "state_name"]
