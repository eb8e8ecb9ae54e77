"""The wheel holds the library alone: chapters, press and trials need the checkout around them.

All else stands in pyproject.toml.
"""

from setuptools import setup
from setuptools.command.build_py import build_py


class Library(build_py):
    """Everything for a checkout (pip install -e), the library for anyone else."""

    def finalize_options(self):
        super().finalize_options()
        if not self.editable_mode:
            self.packages = [name for name in self.packages if name.startswith("icl") and name != "icl.chapters"]
            self.packages = [name for name in self.packages if not name.startswith("icl.chapters.")]


setup(cmdclass={"build_py": Library})
