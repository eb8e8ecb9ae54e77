"""The pictures of each chapter, one chapter a file: experiments in, a `figures.Figure` with its data out."""
