// Cells: drawn once, then their lines and labels are changed as the slider moves.

const THIN = 1.2, THICK = 9;

class Drawing {
  constructor(group, scale, thick = THICK, least = 0.85) {
    this.group = group;
    this.scale = scale;
    this.thick = thick;
    const plan = group.plan;
    this.svg = shape("svg", { viewBox: `0 0 ${plan.width} ${plan.height}`, role: "img" });
    // never smaller than letters that can be read; a narrow page pans the drawing instead
    this.svg.style.width = `${Math.min(plan.width * 1.25, 1040)}px`;
    this.svg.style.maxWidth = "100%";
    this.svg.style.minWidth = `${Math.min(plan.width, Math.max(plan.width * least, 300))}px`;
    this.title = shape("title", {});
    // lines that are chosen lie above those that are not
    this.below = shape("g", {});
    this.above = shape("g", {});
    this.svg.append(this.title, this.below, this.above);
    this.lines = plan.lines.map((line) => this.line(line));
    this.labels = plan.lines.map((line) => this.label(line));
    this.boxes = plan.boxes.map((box) => this.box(box));
  }

  line(line) {
    const wire = shape("path", { d: line.d, class: "wire plain" });
    const numbers = line.d.match(/-?[\d.]+/g).map(Number);
    const [x, y] = numbers.slice(-2);
    const tip = shape("path", { d: `M${x - 1} ${y - 4.5}L${x + 7} ${y}L${x - 1} ${y + 4.5}Z`, class: "tip plain" });
    this.below.append(wire, tip);
    return { ...line, wire, tip };
  }

  label(line) {
    if (line.lx === null || line.lx === undefined) return null;
    const holder = shape("g", { class: "label" });
    const back = shape("rect", { y: line.ly - 9, height: 18, rx: 4 });
    const text = shape("text", { x: line.lx, y: line.ly });
    holder.append(back, text);
    this.svg.append(holder);
    return { holder, back, text, x: line.lx };
  }

  box(box) {
    const rect = shape("rect", { x: box.x, y: box.y, width: box.w, height: box.h, rx: 6, class: "box" });
    const words = shape("text", { x: box.x + box.w / 2, y: box.y + box.h / 2, class: "box-words" }, box.words);
    if (box.outside) rect.classList.add("outside");
    this.svg.append(rect, words);
    return { ...box, rect, words };
  }

  show(frame) {
    const said = [];
    this.lines.forEach((line, place) => {
      if (line.edge === null) return;
      const op = this.op(frame, line.edge), strength = this.strength(frame, line.edge);
      const kind = op === null ? "idle" : line.lx === null ? "plain" : `family-${op.family}`;
      line.wire.setAttribute("class", `wire ${kind}`);
      line.tip.setAttribute("class", `tip ${kind}`);
      (op === null ? this.below : this.above).append(line.wire, line.tip);
      line.wire.style.strokeWidth = (THIN + (this.thick - THIN) * strength).toFixed(2);
      this.write(this.labels[place], op);
      if (op !== null && line.lx !== null) said.push(`${this.group.edges[line.edge].name} ${op.name}`);
    });
    for (const box of this.boxes) {
      if (box.edge === null) continue;
      const op = this.op(frame, box.edge);
      box.words.textContent = op === null ? "" : op.brief;
      box.rect.setAttribute("class", `box open family-${op === null ? "none" : op.family}`);
      box.rect.style.strokeWidth = (1 + 4 * this.strength(frame, box.edge)).toFixed(2);
      if (op !== null) said.push(op.name);
    }
    this.title.textContent = `${this.group.name}: ${said.join(", ") || "nothing chosen"}`;
  }

  op(frame, edge) {
    const place = frame.chosen[edge];
    return place < 0 ? null : this.group.edges[edge].ops[place];
  }

  // of the best op that is more than the absence of an edge
  strength(frame, edge) {
    const there = frame.ops[edge].filter((_, place) => this.group.edges[edge].ops[place].family !== "none");
    return Math.max(0, ...there) * frame.edges[edge] / (this.scale * this.scale);
  }

  write(label, op) {
    if (label === null) return;
    label.holder.style.display = op === null ? "none" : "";
    if (op === null) return;
    label.holder.setAttribute("class", `label family-${op.family}`);
    label.text.textContent = op.brief;
    const width = op.brief.length * 7 + 10;
    label.back.setAttribute("x", label.x - width / 2);
    label.back.setAttribute("width", width);
  }
}

function framed(drawing, name) {
  const pan = make("div", { class: "pan", tabindex: "0", role: "group", "aria-label": `drawing of ${name}` }, drawing.svg);
  return make("div", { class: "drawing" }, make("h3", {}, name), pan);
}

const player = {
  runs: read("replays") || [],
  run: 0, group: 0, place: 0, playing: null, drawings: [], watchers: [],

  get current() { return this.runs[this.run]; },
  get last() { return this.current.frames.length - 1; },
  get shown() {
    const groups = this.current.groups;
    return groups.length > 2 ? [groups[Math.min(this.group, groups.length - 1)]] : groups;
  },

  start() {
    if (!this.runs.length) return;
    this.slider = document.getElementById("epoch");
    this.words = document.getElementById("epoch-words");
    this.button = document.getElementById("play");
    this.slider.addEventListener("input", () => { this.stop(); this.show(Number(this.slider.value)); });
    this.button.addEventListener("click", () => (this.playing === null ? this.play() : this.stop()));
    document.getElementById("pick-run").addEventListener("change", (event) => this.choose(Number(event.target.value), this.group));
    document.getElementById("pick-group").addEventListener("change", (event) => this.choose(this.run, Number(event.target.value)));
    this.choose(0, 0);
  },

  choose(run, group, place) {
    this.stop();
    const followed = this.drawings.length === 0 || this.place === this.last;
    this.run = Math.min(run, this.runs.length - 1);
    this.group = Math.min(group, this.current.groups.length - 1);
    document.getElementById("pick-run").value = String(this.run);
    const picker = document.getElementById("pick-group");
    picker.replaceChildren(...this.current.groups.map((own, index) => make("option", { value: index }, own.name)));
    picker.value = String(this.group);
    picker.parentElement.hidden = this.current.groups.length <= 2;
    this.drawings = this.shown.map((own) => new Drawing(own, this.current.scale));
    document.getElementById("cells").replaceChildren(...this.drawings.map((own) => framed(own, cellName(own.group.name))));
    this.slider.max = String(this.last);
    this.watchers.forEach((watcher) => watcher.rebuilt());
    this.show(place !== undefined ? place : followed ? this.last : Math.min(this.place, this.last));
  },

  show(place) {
    this.place = Math.max(0, Math.min(place, this.last));
    this.slider.value = String(this.place);
    const words = this.current.words[this.place];
    this.slider.setAttribute("aria-valuetext", words);
    this.words.textContent = words;
    const frame = this.current.frames[this.place];
    for (const drawing of this.drawings) drawing.show(frame[drawing.group.name]);
    this.watchers.forEach((watcher) => watcher.moved());
  },

  play() {
    if (this.place === this.last) this.show(0);
    this.button.textContent = "Stop";
    this.button.setAttribute("aria-pressed", "true");
    const pause = Math.max(60, Math.min(500, 12000 / this.current.frames.length));
    this.playing = setInterval(() => {
      if (this.place < this.last) this.show(this.place + 1);
      if (this.place === this.last) this.stop();
    }, pause);
  },

  stop() {
    if (this.playing === null) return;
    clearInterval(this.playing);
    this.playing = null;
    this.button.textContent = "Play";
    this.button.setAttribute("aria-pressed", "false");
  },
};

function cellName(group) {
  return /^cell\d*$/.test(group) ? group.replace("cell", "cell ").trim() : `${group} cell`;
}

player.start();

const stills = read("stills") || [];
for (const place of document.querySelectorAll(".still")) {
  const one = stills[Number(place.dataset.place)];
  for (const group of one.groups) {
    const drawing = new Drawing(group, one.scale, 2.5, 0.7);
    drawing.show(one.frames[0][group.name]);
    place.append(framed(drawing, cellName(group.name)));
  }
}
