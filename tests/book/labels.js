/* In the page of an explorable, at up to 60 settings of its controls: which labels hide curves or other labels. */
() => {
  const box = document.querySelector("[data-explorable]"), inputs = [...box.querySelectorAll(".controls :is(input, select)")];
  const choices = inputs.map((input) => input.type === "range" ? [0, 0.33, 0.67, 1].map((share) => Math.round(share * input.max)) : [...input.options].map((_, i) => i));
  const counts = choices.map((c) => c.length), total = counts.reduce((a, b) => a * b, 1), stride = Math.max(1, Math.floor(total / 60)) | 1;
  const found = { states: 0, labels: 0, curves: 0, between: 0, worst: [] };
  const cross = (a, b, r) => { // a segment and a box: Liang and Barsky (1984)
    let t0 = 0, t1 = 1;
    const d = [b[0] - a[0], b[1] - a[1]];
    for (const [p, q] of [[-d[0], a[0] - r.left], [d[0], r.right - a[0]], [-d[1], a[1] - r.top], [d[1], r.bottom - a[1]]]) {
      if (p === 0 && q < 0) return 0;
      if (p < 0) t0 = Math.max(t0, q / p); else if (p > 0) t1 = Math.min(t1, q / p);
    }
    return t1 > t0 ? (t1 - t0) * Math.hypot(...d) : 0;
  };
  for (let state = 0; state < total; state += stride) {
    let rest = state;
    inputs.forEach((input, i) => { const v = choices[i][rest % counts[i]]; rest = Math.floor(rest / counts[i]); if (input.type === "range") input.value = v; else input.selectedIndex = v; });
    inputs[0].dispatchEvent(new Event("input", { bubbles: true }));
    found.states++;
    box.querySelectorAll(".panels svg").forEach((svg, panel) => {
      const labels = [...svg.querySelectorAll(".label")].map((node) => { const r = node.getBBox(), mid = r.y + 0.52 * r.height; // ink of letters
        return { text: node.textContent, left: r.x + 1, right: r.x + r.width - 1, top: mid - 4, bottom: mid + 4 }; });
      const segments = [];
      for (const path of svg.querySelectorAll("path.line")) { const d = path.getAttribute("d"); const h = d.match(/^M([\d.e+-]+) ([\d.e+-]+)([HV])([\d.e+-]+)$/);
        if (h) { segments.push([[+h[1], +h[2]], h[3] === "H" ? [+h[4], +h[2]] : [+h[1], +h[4]]]); continue; }
        for (const part of d.split("M").filter(Boolean)) { const points = part.split("L").map((p) => p.split(" ").map(Number)); points.slice(1).forEach((p, i) => segments.push([points[i], p])); } }
      labels.forEach((label, k) => {
        found.labels++;
        const hit = segments.reduce((sum, [a, b]) => sum + cross(a, b, label), 0);
        const values = inputs.map((i) => i.type === "range" ? i.getAttribute("aria-valuetext") : i.value).join(",");
        if (hit > 3) { found.curves++; found.worst.push([hit, `panel ${panel} ${label.text}: ${hit.toFixed(0)} of curve at ${values}`]); }
        for (const other of labels.slice(k + 1)) if (Math.min(label.right, other.right) > Math.max(label.left, other.left) && Math.min(label.bottom, other.bottom) > Math.max(label.top, other.top)) { found.between++; found.worst.push([100, `panel ${panel} ${label.text} / ${other.text} at ${values}`]); }
      });
    });
  }
  found.worst = found.worst.sort((a, b) => b[0] - a[0]).slice(0, 12).map(([, words]) => words);
  return found;
}
