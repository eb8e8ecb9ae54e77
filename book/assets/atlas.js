/* The atlas: a map is recoloured for the claim that is chosen, and a point that is chosen says how to run it. */
(function () {
  "use strict";
  const limits = [[1, "beyond"], [0.5, "large"], [0.1, "middling"]];

  function shade(margin) {
    if (margin === null || margin === undefined) return "none";
    const found = limits.find(([limit]) => margin > limit);
    return found ? found[1] : "small";
  }

  function words(margin) {
    if (margin === null || margin === undefined) return "not decided here";
    return margin >= 1e9 ? "no finite margin" : `${margin} of what is allowed`;
  }

  for (const map of document.querySelectorAll(".icl-atlas")) {
    const margins = JSON.parse(map.querySelector("script").textContent);
    const circles = [...map.querySelectorAll("circle")];
    const usual = circles.map((circle) => [circle.getAttribute("class"), circle.querySelector("title").textContent]);
    const select = map.querySelector("select");
    const told = map.querySelector(".icl-atlas-command");
    map.querySelector("label").hidden = false;

    select.addEventListener("change", () => {
      circles.forEach((circle, k) => {
        const of = margins[select.value];
        circle.setAttribute("class", of ? shade(of[k]) : usual[k][0]);
        circle.querySelector("title").textContent =
          of ? `${circle.dataset.command}: ${words(of[k])}` : usual[k][1];
      });
    });

    function choose(circle) {
      const code = document.createElement("code");
      code.textContent = circle.dataset.command;
      const said = circle.querySelector("title").textContent.slice(circle.dataset.command.length);
      told.replaceChildren(code, said);
      for (const other of circles) other.toggleAttribute("data-chosen", other === circle);
    }
    for (const circle of circles) {
      circle.addEventListener("click", () => choose(circle));
      circle.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        choose(circle);
      });
    }
  }
})();
