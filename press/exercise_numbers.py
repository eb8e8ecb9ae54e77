"""A Sphinx extension that finishes what sphinx-exercise starts: links both ways, unique ids.

An exercise ends with a link to its solution, a solution with a link back, and no two elements of a page share an id.
"""

from docutils import nodes
from sphinx.util.typing import ExtensionMetadata
from sphinx_exercise.nodes import exercise_enumerable_node, solution_node


def setup(app) -> ExtensionMetadata:
    """Connect the two steps; Sphinx calls this."""
    app.setup_extension("sphinx_exercise")
    # Those of html serve there too; with some of its own, Sphinx would look for no other extension's.
    app.registry.translation_handlers.pop("singlehtml", None)
    app.connect("doctree-read", _separate_ids)
    app.connect("doctree-resolved", _link_both_ways)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _separate_ids(app, doctree) -> None:
    for node in doctree.findall(_is_ours):
        for section in node.findall(nodes.section):
            section["ids"] = [f"{node['label']}-{id}" for id in section["ids"]]


def _link_both_ways(app, doctree, _) -> None:
    numbers = {label: k for page in app.env.toc_fignumbers.values() for label, k in page.get("exercise", {}).items()}
    exercises = {node["label"]: node for node in doctree.findall(exercise_enumerable_node)}
    for solution in doctree.findall(solution_node):
        exercise, title = exercises[solution["target_label"]], solution[0]
        number = ".".join(map(str, numbers[exercise["label"]]))
        title.children = []  # a link inside would swallow the click that unfolds the solution
        title += nodes.Text(f"Solution of Exercise {number}")
        exercise += _link("Solution", solution["label"])
        solution += _link(f"Back to Exercise {number}", exercise["label"])


def _link(words: str, label: str) -> nodes.Node:
    reference = nodes.reference("", words, refid=label, internal=True)
    return nodes.paragraph("", "", reference, classes=["icl-other-half"])


def _is_ours(node) -> bool:
    return isinstance(node, exercise_enumerable_node | solution_node)
