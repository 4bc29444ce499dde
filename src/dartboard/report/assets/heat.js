// Strengths as colours: a field for each edge over epochs, and a field for each cell at one epoch.

const VIRIDIS = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]];

function tint(share) {
  const at = Math.max(0, Math.min(1, share)) * (VIRIDIS.length - 1);
  const low = Math.min(Math.floor(at), VIRIDIS.length - 2), rest = at - low;
  return VIRIDIS[low].map((own, place) => Math.round(own + rest * (VIRIDIS[low + 1][place] - own)));
}

// A canvas with one pixel for each value; null is left empty.
function field(rows, most) {
  const canvas = make("canvas", { width: rows[0].length, height: rows.length, role: "img" });
  const pen = canvas.getContext("2d"), image = pen.createImageData(canvas.width, canvas.height);
  rows.forEach((row, y) => row.forEach((value, x) => {
    if (value !== null) image.data.set([...tint(value / most), 255], 4 * (y * canvas.width + x));
  }));
  pen.putImageData(image, 0, 0);
  return canvas;
}

function panel(name, labels, rows, most, columns) {
  const canvas = field(rows, most);
  const top = rows.map((row) => row[row.length - 1]).reduce((best, own, place, all) => (own > all[best] ? place : best), 0);
  const names = make("ul", { class: "names" }, ...labels.map((own, place) => make("li", place === top && columns === undefined ? { class: "top" } : {}, own)));
  const said = make("p", { class: "said" });
  const holder = make("div", { class: "field" }, canvas);
  canvas.addEventListener("pointermove", (event) => {
    const box = canvas.getBoundingClientRect();
    const x = Math.min(canvas.width - 1, Math.max(0, Math.floor((event.clientX - box.left) / box.width * canvas.width)));
    const y = Math.min(canvas.height - 1, Math.max(0, Math.floor((event.clientY - box.top) / box.height * canvas.height)));
    const value = rows[y][x];
    said.textContent = value === null ? "" : `${labels[y]}, ${columns === undefined ? player.current.words[x] : columns[x]}: ${(value / SCALE).toFixed(3)}`;
  });
  canvas.addEventListener("pointerleave", () => { said.textContent = ""; });
  const heads = columns === undefined ? [] : [make("ul", { class: "heads" }, ...columns.map((own) => make("li", {}, own)))];
  const grid = make("div", { class: "grid" }, ...heads, names, holder);
  return { holder, canvas, root: make("div", { class: "panel" }, make("h4", {}, name), grid, said), top: labels[top] };
}

// The edges that have something to choose, with their places.
function opened(arch) {
  return arch.edges.map((edge, index) => ({ ...edge, index })).filter((edge) => edge.ops.length > 1);
}

function largest(arch, frames) {
  return frames.reduce((most, frame) => Math.max(most, ...opened(arch).flatMap((edge) => frame.ops[edge.index])), 0);
}

const heat = {
  place: document.getElementById("heat"),
  marks: [],

  rebuilt() {
    this.marks = [];
    const frames = player.current.frames.slice(0, player.current.epochs.length);
    const most = Math.max(...player.shown.map((arch) => largest(arch, frames.map((own) => own[arch.name]))));
    document.getElementById("heat-most").textContent = (most / SCALE).toFixed(2);
    this.place.replaceChildren(...player.shown.map((arch) => this.arch(arch, frames.map((own) => own[arch.name]), most)));
  },

  arch(arch, frames, most) {
    const open = opened(arch);
    const panels = open.map((edge) => {
      const rows = edge.ops.map((_, op) => frames.map((frame) => frame.ops[edge.index][op]));
      const made = panel(edge.name, edge.ops.map((op) => op.brief), rows, most);
      made.canvas.setAttribute("aria-label", `edge ${edge.name} over ${frames.length} epochs, strongest at the end: ${made.top}`);
      const mark = make("div", { class: "now" });
      made.holder.append(mark);
      this.marks.push(mark);
      return made.root;
    });
    return make("div", { class: "heat-arch" }, make("h3", {}, cellName(arch.name)), make("div", { class: "panels" }, ...panels));
  },

  moved() {
    const count = player.current.epochs.length;
    const share = (Math.min(player.place, count - 1) + 0.5) / count;
    for (const mark of this.marks) mark.style.left = `${100 * share}%`;
  },
};

const maps = {
  place: document.getElementById("attention-maps"),
  rebuilt() {},
  moved() {
    const frame = player.current.frames[player.place];
    const most = Math.max(...Object.values(frame).flatMap((own) => own.ops.filter((row) => row.length > 1).flat()));
    const made = player.current.archs.map((arch) => this.map(arch, frame[arch.name], most));
    this.place.replaceChildren(make("div", { class: "maps" }, ...made));
  },
  map(arch, frame, most) {
    const open = opened(arch);
    const ops = [...new Set(open.flatMap((edge) => edge.ops.map((op) => op.brief)))];
    const rows = open.map((edge) => ops.map((name) => {
      const place = edge.ops.findIndex((op) => op.brief === name);
      return place < 0 ? null : frame.ops[edge.index][place];
    }));
    const made = panel(cellName(arch.name), open.map((edge) => edge.name), rows, most, ops);
    made.canvas.setAttribute("aria-label", `attention of ${arch.name}: edges down, ${ops.join(", ")} across`);
    return made.root;
  },
};

for (const watcher of [heat, maps]) {
  if (watcher.place === null || !player.runs.length) continue;
  player.watchers.push(watcher);
  watcher.rebuilt();
  watcher.moved();
}
