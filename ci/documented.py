"""Whether the built site has each public name: python ci/documented.py SITE.

A name is documented if a page of the API has an anchor that ends with it.  Constants, which are
written in capitals, need none.
"""

import ast
import re
import sys
from pathlib import Path

SITE = Path(sys.argv[1])


def public_names(room: str) -> list[str]:
    """What ``__all__`` of a room or module lists."""
    place = Path(*room.split("."))
    source = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
    for node in ast.parse(source.read_text()).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            names: list[str] = ast.literal_eval(node.value)
            return [name for name in names if not name.isupper()]
    raise SystemExit(f"{source} has no __all__")


missing = []
for page in sorted(SITE.glob("reference/api/*.html")):
    room = f"flinkish.{page.stem}"
    anchors = re.findall(rf'id="{re.escape(room)}\.([\w.]+)"', page.read_text())
    found = {anchor.rpartition(".")[2] for anchor in anchors}
    missing += [f"{room}.{name}" for name in public_names(room) if name not in found]
if missing:
    sys.exit(
        f"the reference lacks {', '.join(missing)}: give them docstrings, or a place in the page"
    )
