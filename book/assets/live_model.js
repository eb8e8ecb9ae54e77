/* The front page's transformer, whole: a trained encoder's forward pass, and the two straight lines beside it.

   const model = iclLiveModel(iclLiveWeights);
   model.answers(us, ys, at)   // what each layer would answer at the places `at`, the last one's answer being its own
   model.oneLayer(us, ys)      // [height, slope] of one layer of linear attention with its best weights
   model.bayes(us, ys)         // [height, slope] of the posterior mean

   The weights are those of results/checkpoints/front_page, written by press/pages/live.py; icl/models/encoder.py is the
   same in PyTorch, and a test compares the two. Points are tokens (1, u, y), questions tokens (1, u, 0); all of them
   attend to the points only, so that questions do not see one another and the order of the points does not matter. */
(function (root) {
  "use strict";

  /* A tensor from base64: of float16 numbers or, where that is too coarse, of float64; little-endian. */
  function decode({ shape, float16, float64 }) {
    const bytes = Uint8Array.from(atob(float16 || float64), (c) => c.charCodeAt(0)), view = new DataView(bytes.buffer);
    const values = new Float64Array(shape.reduce((a, b) => a * b, 1));
    for (let i = 0; i < values.length; i++) {
      values[i] = float64 ? view.getFloat64(8 * i, true) : half(view.getUint16(2 * i, true));
    }
    return values;
  }

  function half(bits) {
    const sign = bits & 0x8000 ? -1 : 1, exponent = (bits >> 10) & 31, fraction = bits & 1023;
    return sign * (exponent ? 2 ** (exponent - 15) * (1 + fraction / 1024) : fraction * 2 ** -24);
  }

  /* out[t, o] = b[o] + sum_i W[o, i] x[t, i] for the rows t from `first` to `last`, and outputs o from `from` to `to`. */
  function linear(x, first, last, { W, b, inputs }, out, from, to, add) {
    const width = to - from;
    for (let t = first; t < last; t++) {
      const row = t * inputs;
      for (let o = from; o < to; o++) {
        const w = o * inputs;
        let s0 = b[o], s1 = 0, i = 0;
        for (; i + 1 < inputs; i += 2) {
          s0 += W[w + i] * x[row + i];
          s1 += W[w + i + 1] * x[row + i + 1];
        }
        if (i < inputs) s0 += W[w + i] * x[row + i];
        const place = t * width + o - from;
        out[place] = add ? out[place] + s0 + s1 : s0 + s1;
      }
    }
  }

  function layerNorm(x, first, last, C, { W, b }, out) {
    for (let t = first; t < last; t++) {
      let mean = 0, square = 0;
      for (let i = t * C; i < (t + 1) * C; i++) mean += x[i];
      mean /= C;
      for (let i = t * C; i < (t + 1) * C; i++) square += (x[i] - mean) ** 2;
      const scale = 1 / Math.sqrt(square / C + 1e-5);
      for (let i = 0; i < C; i++) out[t * C + i] = (x[t * C + i] - mean) * scale * W[i] + b[i];
    }
  }

  /* GELU as GPT-2 has it. */
  function gelu(x, from, to) {
    const scale = Math.sqrt(2 / Math.PI);
    for (let i = from; i < to; i++) {
      const v = x[i];
      x[i] = 0.5 * v * (1 + Math.tanh(scale * (v + 0.044715 * v * v * v)));
    }
  }

  /* Softmax attention of the rows from `first` to `last` to the first n: q, k, v (rows, C) → out (rows, C). */
  function attend(q, k, v, n, first, last, C, heads, out) {
    const size = C / heads, scale = 1 / Math.sqrt(size), scores = new Float64Array(n);
    for (let t = first; t < last; t++) {
      for (let h = 0; h < C; h += size) {
        let top = -Infinity, sum = 0;
        for (let s = 0; s < n; s++) {
          let dot = 0;
          for (let i = h; i < h + size; i++) dot += q[t * C + i] * k[s * C + i];
          scores[s] = dot * scale;
          if (scores[s] > top) top = scores[s];
        }
        for (let s = 0; s < n; s++) sum += scores[s] = Math.exp(scores[s] - top);
        for (let i = h; i < h + size; i++) {
          let mixed = 0;
          for (let s = 0; s < n; s++) mixed += scores[s] * v[s * C + i];
          out[t * C + i] = mixed / sum;
        }
      }
    }
  }

  function iclLiveModel({ layers, heads, step, sigma2, tensors }) {
    const of = (name) => decode(tensors[name]);
    const pair = (name) => ({ W: of(`${name}.weight`), b: of(`${name}.bias`), inputs: tensors[`${name}.weight`].shape.at(-1) });
    const readIn = pair("model.read_in"), norm = pair("model.norm"), readOut = pair("model.read_out");
    const C = readOut.inputs, hidden = tensors["model.blocks.0.mlp.0.weight"].shape[0];
    const blocks = Array.from({ length: layers }, (_, k) => Object.fromEntries(
      ["norm_1", "attention.qkv", "attention.out", "norm_2", "mlp.0", "mlp.2"].map((part) => [part, pair(`model.blocks.${k}.${part}`)])));
    const early = { W: of("readouts.weights"), b: of("readouts.intercepts") };

    /* x ← x + attention(norm x), then x ← x + MLP(norm x); in the last block for the questions alone, whom nobody sees. */
    function runBlock(block, x, n, T, first) {
      const normed = new Float64Array(T * C), [q, k, v, mixed] = [T, n, n, T].map((rows) => new Float64Array(rows * C));
      layerNorm(x, 0, T, C, block.norm_1, normed);
      linear(normed, first, T, block["attention.qkv"], q, 0, C);
      linear(normed, 0, n, block["attention.qkv"], k, C, 2 * C);
      linear(normed, 0, n, block["attention.qkv"], v, 2 * C, 3 * C);
      attend(q, k, v, n, first, T, C, heads, mixed);
      linear(mixed, first, T, block["attention.out"], x, 0, C, true);
      const inner = new Float64Array(T * hidden);
      layerNorm(x, first, T, C, block.norm_2, normed);
      linear(normed, first, T, block["mlp.0"], inner, 0, hidden);
      gelu(inner, first * hidden, T * hidden);
      linear(inner, first, T, block["mlp.2"], x, 0, C, true);
    }

    function answers(us, ys, at) {
      const n = us.length, T = n + at.length, x = new Float64Array(T * C), tokens = new Float64Array(3 * T);
      [...us, ...at].forEach((u, t) => tokens.set([1, u, t < n ? ys[t] : 0], 3 * t));
      linear(tokens, 0, T, readIn, x, 0, C);
      const found = [];
      blocks.forEach((block, k) => {
        const last = k + 1 === layers, read = new Float64Array(at.length);
        runBlock(block, x, n, T, last ? n : 0);
        const seen = last ? new Float64Array(T * C) : x; // the last layer is read by the model's own head
        if (last) layerNorm(x, n, T, C, norm, seen);
        linear(seen.subarray(n * C), 0, at.length, last ? readOut
          : { W: early.W.subarray(k * C, (k + 1) * C), b: early.b.subarray(k, k + 1), inputs: C }, read, 0, 1);
        found.push(Array.from(read));
      });
      return found;
    }

    const sums = (us, ys) => us.reduce((s, u, i) => [s[0] + ys[i], s[1] + u * ys[i], s[2] + u, s[3] + u * u], [0, 0, 0, 0]);

    function oneLayer(us, ys) { // Gamma S_xy / n, Gamma diagonal
      const [y, uy] = sums(us, ys);
      return [(step[0] * y) / us.length, (step[1] * uy) / us.length];
    }

    function bayes(us, ys) { // (X'X + sigma2 I)^{-1} X'y
      const [y, uy, u, uu] = sums(us, ys), a = us.length + sigma2, c = uu + sigma2, det = a * c - u * u;
      return [(c * y - u * uy) / det, (a * uy - u * y) / det];
    }

    return { answers, oneLayer, bayes, layers };
  }

  if (typeof module !== "undefined") module.exports = iclLiveModel;
  else root.iclLiveModel = iclLiveModel;
})(typeof globalThis === "undefined" ? this : globalThis);
