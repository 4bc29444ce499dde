// Charts: drawn when they come near the window, and again when the colors of the page change.

const dark = matchMedia("(prefers-color-scheme: dark)");
const drawn = new Set();

function color(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

// Plotly reads some markup in names; as entities they are what they are.
function plain(text) {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

function lineColor(own) {
  const lighter = { "#000000": "#e8ebed", "#0072B2": "#56a5ea", "#D55E00": "#f2894a", "#009E73": "#35c69a" };
  return dark.matches ? lighter[own] || own : own;
}

function washed(hex) {
  const parts = [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
  return `rgba(${parts.join(",")},0.18)`;
}

function traces(chart) {
  const made = [];
  for (const line of chart.lines) {
    const own = lineColor(line.colour), name = plain(line.name);
    if (line.spread.length) {
      const upper = line.y.map((y, place) => y + line.spread[place]);
      const lower = line.y.map((y, place) => y - line.spread[place]);
      made.push({
        x: [...line.x, ...[...line.x].reverse()], y: [...upper, ...lower.reverse()], fill: "toself", mode: "lines",
        fillcolor: washed(own), line: { width: 0 }, hoverinfo: "skip", showlegend: false, legendgroup: name, name,
      });
    }
    const few = line.x.length < 16;
    made.push({
      x: line.x, y: line.y, name, legendgroup: name, mode: few ? "lines+markers" : "lines",
      line: { color: own, dash: line.dash, width: 2 }, marker: { size: 5 },
      hovertemplate: `%{y:${chart.percent ? ".2%" : ".4g"}}<extra>${name}</extra>`,
    });
  }
  return made;
}

// A line that hardly moves is no cliff: shares that differ by little get an axis of ten points at least.
function range(chart) {
  const reach = (sign) => chart.lines.flatMap((own) => own.y.map((y, place) => y + sign * (own.spread[place] || 0)));
  const low = Math.min(...reach(-1)), high = Math.max(...reach(1));
  if (!chart.percent || chart.zero || high - low > 0.1) return {};
  const middle = (low + high) / 2;
  return { range: [Math.max(middle - 0.06, -0.01), Math.min(middle + 0.06, 1.01)] };
}

// Where schedules of another length begin.
function seams(chart) {
  const line = { color: color("--soft"), width: 1, dash: "dash" };
  return chart.seams.map((x) => ({ type: "line", x0: x, x1: x, yref: "paper", y0: 0, y1: 1, line }));
}

function layout(chart) {
  const ink = color("--ink"), soft = color("--soft"), line = color("--line");
  const axis = { gridcolor: line, zerolinecolor: line, linecolor: line, tickfont: { color: soft }, automargin: true };
  const last = Math.max(...chart.lines.flatMap((own) => own.x));
  const steps = last <= 12 ? { dtick: 1 } : { nticks: 8 };
  const rows = Math.ceil(chart.lines.reduce((sum, own) => sum + own.name.length + 6, 0) / 60);
  return {
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: getComputedStyle(document.body).fontFamily, size: 12, color: ink },
    margin: { l: 44, r: 12, t: chart.lines.length > 1 ? 8 + 20 * Math.min(rows, 3) : 10, b: 40 },
    showlegend: chart.lines.length > 1, legend: { orientation: "h", x: 0, y: 1.02, yanchor: "bottom", font: { size: 12 } },
    shapes: seams(chart), hovermode: "x unified", hoverlabel: { bgcolor: color("--card"), bordercolor: line, font: { color: ink } },
    xaxis: { ...axis, title: { text: "epoch", font: { color: soft }, standoff: 6 }, tickformat: "d", ...steps },
    yaxis: {
      ...axis, title: { text: plain(chart.axis), font: { color: soft }, standoff: 8 },
      tickformat: chart.percent ? ".0%" : "", rangemode: chart.zero ? "tozero" : "normal", ...range(chart),
    },
  };
}

// The library for charts is large: the page is there before it, and it is read once there is time.
function load() {
  if (window.Plotly !== undefined) return;
  document.head.append(make("script", {}, document.getElementById("plotly").textContent));
}

function draw(place) {
  load();
  drawn.add(place);
  const chart = read(place.dataset.chart);
  const options = { displayModeBar: false, responsive: true, scrollZoom: false };
  return Plotly.react(place, traces(chart), layout(chart), options);
}

const plots = [...document.querySelectorAll(".plot")];
const near = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    if (!entry.isIntersecting) continue;
    near.unobserve(entry.target);
    draw(entry.target);
  }
}, { rootMargin: "400px" });
// after the first paint
requestAnimationFrame(() => setTimeout(() => {
  for (const place of plots) near.observe(place);
  if (plots.length) (window.requestIdleCallback || setTimeout)(load);
}));

dark.addEventListener("change", () => { for (const place of drawn) draw(place); });
addEventListener("beforeprint", () => { for (const place of plots) if (!drawn.has(place)) draw(place); });
