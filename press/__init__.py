"""Running chapters and building the book: the only part that knows papermill, Jupytext and Jupyter Book."""
