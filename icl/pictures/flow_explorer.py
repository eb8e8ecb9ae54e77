"""Chapter 5's explorer: sliders that move the flow's curves on the static page, by `assets/gradient_flow.js`."""

from dataclasses import dataclass

from icl.parameters import TaskMeanParameters

# name, label, least, most, step; the run's own values are where the sliders start
SLIDERS = (
    ("n", "examples n", 1, 100, 1),
    ("d", "covariates d", 1, 50, 1),
    ("sigma2", "noise σ²", 0, 5, 0.05),
    ("beta_norm", "mean task ‖β*‖", 0, 6, 0.1),
)


@dataclass(frozen=True)
class Explorer:
    """The HTML of the sliders and their three empty panels; hidden until the script, which only the book has, runs."""

    parameters: TaskMeanParameters

    def _repr_html_(self) -> str:
        controls = "".join(self._control(*slider) for slider in SLIDERS)
        names = ("the step and the error of β over time", "excess risk over time", "excess against context length")
        panels = "".join(f'<svg viewBox="0 0 340 230" role="img" aria-label="{name}"></svg>' for name in names)
        return (
            '<link rel="stylesheet" href="../_static/gradient_flow.css">'
            '<div class="icl-explorer" hidden>'
            f'<div class="controls">{controls}</div><div class="panels">{panels}'
            '<div class="legend"><p class="key"><b class="gd">orange</b>: step along the error, '
            'excess risk; <b class="green">green</b>: '
            'step across it; <b class="bayes">blue</b>: error of β; dashed: limits and bounds.</p>'
            '<p data-summary role="status"></p><button type="button">Reset</button></div></div></div>'
            '<script defer src="../_static/gradient_flow.js"></script>'
        )

    def _control(self, name, label, least, most, step) -> str:
        value = getattr(self.parameters, name)
        most = max(most, value)
        return (
            f'<div class="control"><label for="icl-{name}">{label}</label><input type="range" id="icl-{name}" '
            f'name="{name}" min="{least}" max="{most:g}" step="{step}" value="{value:g}">'
            f'<output for="icl-{name}">{value:g}</output></div>'
        )

    def __repr__(self) -> str:
        return "Sliders that move the flow's curves; they work in the built book."
