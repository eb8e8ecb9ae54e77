/* Draws an explorable at its start without a browser: node static_panels.js EXPLORABLE_JS CHAPTER_JS reads the page's
   configuration from its input and writes {panels, numbers}. Of a document it has what explorable.js draws with. */
"use strict";
const escape = (text) => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/"/g, "&quot;");

class Element {
  constructor(tag) { Object.assign(this, { tag, attributes: {}, children: [], textContent: "" }); }
  setAttribute(name, value) { this.attributes[name] = value; }
  append(...children) { this.children.push(...children); }
  replaceChildren(...children) { this.children = children; }
  getComputedTextLength() { return 0; } // explorable.js then goes by the number of letters
  get inner() { return escape(this.textContent) + this.children.map((child) => child.outer).join(""); }
  get outer() {
    const attributes = Object.entries(this.attributes).map(([name, value]) => ` ${name}="${escape(value)}"`).join("");
    return `<${this.tag}${attributes}>${this.inner}</${this.tag}>`;
  }
}

globalThis.document = { readyState: "complete", createElementNS: (_, tag) => new Element(tag), querySelectorAll: () => [] };
const [engine, chapter] = process.argv.slice(2), config = JSON.parse(require("fs").readFileSync(0, "utf8"));
require(engine);
const { Plot, format } = globalThis.iclExplorables, found = [];
globalThis.iclExplorables = found;
require(chapter);

const panels = [], plots = [], numbers = {};
found[0].draw(Object.fromEntries(config.controls.map((control) => [control.name, control.start])), {
  data: config.data,
  format,
  panel(i, axes) {
    panels[i] = new Element("svg");
    plots.push(Plot(panels[i], `icl-${found[0].name}-static-${i}`, axes));
    return plots[plots.length - 1];
  },
  number(key, v) { numbers[key] = typeof v === "number" ? format(v) : v; },
});
plots.forEach((plot) => plot.finish());
process.stdout.write(JSON.stringify({ panels: panels.map((panel) => panel.inner), numbers }));
