"""Answer to ``pip list -v --format json`` as far as Pulumi's language host reads it: the packages of Pulumi. pip itself
takes half a second of processor for it, in each run of the engine."""

import json
import sys
from pathlib import Path

print(
    json.dumps(
        [
            {"name": name, "version": version, "location": folder}
            for folder in sys.path
            for info in Path(folder).glob("pulumi*.dist-info")
            for name, version in [info.name.removesuffix(".dist-info").split("-")]
        ]
    )
)
