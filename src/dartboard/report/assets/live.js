// A live page loads itself again now and then, and finds the reader where they were.

const KEPT = `dartboard ${location.pathname}`;
const seconds = read("page").live;
const pauseButton = document.getElementById("pause");
let paused = false, held = false;

function keep() {
  const open = [...document.querySelectorAll("details[id]")].filter((own) => own.open).map((own) => own.id);
  const state = { y: scrollY, open, paused, focus: document.activeElement && document.activeElement.id };
  if (player.runs.length)
    Object.assign(state, { run: player.run, group: player.group, place: player.place, last: player.place === player.last });
  try { sessionStorage.setItem(KEPT, JSON.stringify(state)); } catch { /* then the reader starts at the top */ }
}

function kept() {
  try { return JSON.parse(sessionStorage.getItem(KEPT)); } catch { return null; }
}

function restore(state) {
  for (const id of state.open) {
    const found = document.getElementById(id);
    if (found !== null) found.open = true;
  }
  if (player.runs.length && state.place !== undefined)
    player.choose(state.run, state.group, state.last ? Infinity : state.place);
  if (state.focus) {
    const found = document.getElementById(state.focus);
    if (found !== null) found.focus({ preventScroll: true });
  }
  setPaused(Boolean(state.paused));
  history.scrollRestoration = "manual";
  scrollTo({ top: state.y, behavior: "instant" });
}

function setPaused(value) {
  paused = value;
  if (pauseButton === null) return;
  pauseButton.textContent = paused ? "Go on" : "Pause";
  pauseButton.setAttribute("aria-pressed", String(paused));
}

// Not while somebody drags the slider, has marked text, plays the cell or looks elsewhere.
function disturbs() {
  const marked = getSelection() !== null && !getSelection().isCollapsed;
  return paused || held || marked || document.hidden || player.playing !== null;
}

if (pauseButton !== null) pauseButton.addEventListener("click", () => { setPaused(!paused); keep(); });
addEventListener("pointerdown", () => { held = true; });
addEventListener("pointerup", () => { held = false; });
addEventListener("pointercancel", () => { held = false; });
addEventListener("pagehide", keep);

const navigation = performance.getEntriesByType("navigation")[0];
const before = kept();
if (before !== null && navigation !== undefined && navigation.type === "reload") restore(before);
if (seconds > 0) {
  setInterval(() => {
    if (disturbs()) return;
    keep();
    location.reload();
  }, 1000 * seconds);
}
