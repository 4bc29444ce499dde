// Strengths as colors: a field for each edge over epochs, and a field for each cell at one epoch.

const VIRIDIS = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]];

function tint(share) {
  const at = Math.max(0, Math.min(1, share)) * (VIRIDIS.length - 1);
  const low = Math.min(Math.floor(at), VIRIDIS.length - 2), rest = at - low;
  return VIRIDIS[low].map((own, place) => Math.round(own + rest * (VIRIDIS[low + 1][place] - own)));
}

const COARSE = 1000;

// From nothing to the largest value; from the smallest where all are close and told finely.
function bounds(values) {
  const most = values.reduce((best, own) => Math.max(best, own), 0);
  const least = player.current.scale > COARSE ? values.reduce((best, own) => Math.min(best, own), most) : 0;
  return { least, most, share: (value) => (value - least) / Math.max(most - least, 1) };
}

// A strength in words; of those that are close, more of them.
function told(value, digits) {
  return value === 0 ? "0" : (value / player.current.scale).toFixed(player.current.scale > COARSE ? 4 : digits);
}

function explain(name, bounds) {
  document.getElementById(`${name}-least`).textContent = told(bounds.least, 2);
  document.getElementById(`${name}-most`).textContent = told(bounds.most, 2);
  const note = document.getElementById(`${name}-note`);
  note.hidden = bounds.least === 0;
  note.textContent = `They differ by ${told(bounds.most - bounds.least, 2)} at most: the colors go from the smallest to the largest.`;
}

// A canvas with one pixel for each value; null is left empty.
function field(rows, bounds) {
  const canvas = make("canvas", { width: rows[0].length, height: rows.length, role: "img" });
  const pen = canvas.getContext("2d"), image = pen.createImageData(canvas.width, canvas.height);
  rows.forEach((row, y) => row.forEach((value, x) => {
    if (value !== null) image.data.set([...tint(bounds.share(value)), 255], 4 * (y * canvas.width + x));
  }));
  pen.putImageData(image, 0, 0);
  return canvas;
}

function panel(name, labels, rows, bounds, columns) {
  const canvas = field(rows, bounds);
  const top = rows.map((row) => row[row.length - 1]).reduce((best, own, place, all) => (own > all[best] ? place : best), 0);
  const names = make("ul", { class: "names" }, ...labels.map((own, place) => make("li", place === top && columns === undefined ? { class: "top" } : {}, own)));
  const said = make("p", { class: "said" });
  const holder = make("div", { class: "field" }, canvas);
  canvas.addEventListener("pointermove", (event) => {
    const box = canvas.getBoundingClientRect();
    const x = Math.min(canvas.width - 1, Math.max(0, Math.floor((event.clientX - box.left) / box.width * canvas.width)));
    const y = Math.min(canvas.height - 1, Math.max(0, Math.floor((event.clientY - box.top) / box.height * canvas.height)));
    const value = rows[y][x];
    said.textContent = value === null ? "" : `${labels[y]}, ${columns === undefined ? player.current.words[x] : columns[x]}: ${told(value, 3)}`;
  });
  canvas.addEventListener("pointerleave", () => { said.textContent = ""; });
  const heads = columns === undefined ? [] : [make("ul", { class: "heads" }, ...columns.map((own) => make("li", {}, own)))];
  const grid = make("div", { class: "grid" }, ...heads, names, holder);
  return { holder, canvas, root: make("div", { class: "panel" }, make("h4", {}, name), grid, said), top: labels[top] };
}

// The edges that have something to choose, with their places.
function opened(group) {
  return group.edges.map((edge, index) => ({ ...edge, index })).filter((edge) => edge.ops.length > 1);
}

function strengths(group, frames) {
  return frames.flatMap((frame) => opened(group).flatMap((edge) => frame.ops[edge.index]));
}

const heat = {
  place: document.getElementById("heat"),
  marks: [],

  rebuilt() {
    this.marks = [];
    const frames = player.current.frames.slice(0, player.current.epochs.length);
    const whole = bounds(player.shown.flatMap((group) => strengths(group, frames.map((own) => own[group.name]))));
    explain("heat", whole);
    this.place.replaceChildren(...player.shown.map((group) => this.group(group, frames.map((own) => own[group.name]), whole)));
  },

  group(group, frames, bounds) {
    const open = opened(group);
    const panels = open.map((edge) => {
      const rows = edge.ops.map((_, op) => frames.map((frame) => frame.ops[edge.index][op]));
      const made = panel(edge.name, edge.ops.map((op) => op.brief), rows, bounds);
      made.canvas.setAttribute("aria-label", `edge ${edge.name} over ${frames.length} epochs, strongest at the end: ${made.top}`);
      const mark = make("div", { class: "now" });
      made.holder.append(mark);
      this.marks.push(mark);
      return made.root;
    });
    return make("div", { class: "heat-group" }, make("h3", {}, cellName(group.name)), make("div", { class: "panels" }, ...panels));
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
    const whole = bounds(player.current.groups.flatMap((group) => strengths(group, [frame[group.name]])));
    explain("map", whole);
    const made = player.current.groups.map((group) => this.map(group, frame[group.name], whole));
    this.place.replaceChildren(make("div", { class: "maps" }, ...made));
  },
  map(group, frame, bounds) {
    const open = opened(group);
    const ops = [...new Set(open.flatMap((edge) => edge.ops.map((op) => op.brief)))];
    const rows = open.map((edge) => ops.map((name) => {
      const place = edge.ops.findIndex((op) => op.brief === name);
      return place < 0 ? null : frame.ops[edge.index][place];
    }));
    const made = panel(cellName(group.name), open.map((edge) => edge.name), rows, bounds, ops);
    made.canvas.setAttribute("aria-label", `attention of ${group.name}: edges down, ${ops.join(", ")} across`);
    return made.root;
  },
};

for (const watcher of [heat, maps]) {
  if (watcher.place === null || !player.runs.length) continue;
  player.watchers.push(watcher);
  watcher.rebuilt();
  watcher.moved();
}
