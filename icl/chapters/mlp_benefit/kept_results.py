"""What long trainings gave, in a sealed file that the book carries: part → name → key → result, beside the settings."""

import json
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from icl.files import read_sealed, sealed, write_atomically
from icl.validation import InputError


@dataclass(frozen=True)
class KeptResults:
    """The file at `path`; `settings` is all that its results depend on, as JSON-able values, `command` makes them anew.

    parts : part → the names that it may have, in the order of the file.
    """

    path: Path
    settings: dict
    parts: dict[str, Collection[str]]
    command: str

    def read(self) -> dict[str, dict[str, dict]]:
        """Part → name → key → result; empty where there is no file.

        Raises InputError for a file that is damaged or of other settings.
        """
        if not self.path.exists():
            return {part: {} for part in self.parts}
        content = read_sealed(self.path)
        if content.get("settings") != json.loads(json.dumps(self.settings)):
            raise InputError(
                f"{self.path} holds results of other settings than the code asks for; delete it, and train again:"
                f" `{self.command}`."
            )
        return {part: content[part] for part in self.parts}

    def add(self, part: str, name: str, key: str, result) -> None:
        """Put one result into the file, whole or not at all; what another process added meanwhile stays."""
        content = self.read()
        content[part][name] = dict(sorted((content[part].get(name, {}) | {key: result}).items()))
        ordered = {
            part: {name: content[part][name] for name in names if name in content[part]}
            for part, names in self.parts.items()
        }
        write_atomically(self.path, sealed({"settings": self.settings} | ordered))
