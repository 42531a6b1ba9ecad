// Charts with uPlot, in the colours of the page; each has a table or sentences beside it for those who cannot see it.
import { html, language, say, useEffect, useRef } from "./shared.js";

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const paint = () => ({ stroke: colour("--soft"), grid: { stroke: colour("--line"), width: 1 }, ticks: { stroke: colour("--line"), width: 1 } });
const SHORT = { month: "short", day: "numeric" };
const days = (chart, splits) => splits.map((at) => new Date(at * 1000).toLocaleDateString(language, SHORT));

function useChart(make, keys) {
  const box = useRef(null);
  useEffect(() => {
    let chart = null;
    const draw = () => {
      if (chart) chart.destroy();
      chart = make(box.current, Math.max(240, box.current.clientWidth));
    };
    draw();
    const watch = new ResizeObserver(() => { if (chart && Math.abs(chart.width - box.current.clientWidth) > 4) draw(); });
    watch.observe(box.current);
    const theme = matchMedia("(prefers-color-scheme: dark)");
    theme.addEventListener("change", draw);
    const chosen = new MutationObserver(draw);
    chosen.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
    return () => { watch.disconnect(); chosen.disconnect(); theme.removeEventListener("change", draw); if (chart) chart.destroy(); };
  }, keys);
  return box;
}

/** A vertical line where the forecast begins. */
const todayLine = (at) => ({
  hooks: {
    draw: [(chart) => {
      const x = chart.valToPos(at, "x", true);
      const { ctx, bbox } = chart;
      ctx.save();
      ctx.strokeStyle = colour("--soft");
      ctx.setLineDash([4, 4]);
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
      ctx.restore();
    }],
  },
});

/** The strength of one memory, from its beginning to some weeks ahead. */
export function DecayChart({ curve }) {
  const box = useChart((target, width) => {
    const split = curve.times.findIndex((at) => at > curve.now);
    const end = split < 0 ? curve.times.length : split;
    const past = curve.scores.map((score, n) => (n <= end ? score : null));
    const ahead = curve.scores.map((score, n) => (n >= end - 1 ? score : null));
    const marks = curve.times.map(() => null);
    for (const [at, score] of curve.recalls) {
      const nearest = curve.times.findIndex((time) => time >= at);
      if (nearest >= 0) marks[nearest] = score;
    }
    const bands = curve.levels.map(([level, score]) => ({
      hooks: { draw: [(chart) => {
        const y = chart.valToPos(score, "y", true);
        const { ctx, bbox } = chart;
        ctx.save();
        ctx.strokeStyle = colour("--line");
        ctx.fillStyle = colour("--soft");
        ctx.font = `${11 * devicePixelRatio}px sans-serif`;
        ctx.beginPath();
        ctx.moveTo(bbox.left, y);
        ctx.lineTo(bbox.left + bbox.width, y);
        ctx.stroke();
        ctx.textAlign = "right";
        ctx.fillText(say(`level.name${level}`), bbox.left + bbox.width - 4, y + 12 * devicePixelRatio);
        ctx.restore();
      }] },
    }));
    return new uPlot({
      width, height: 220, legend: { show: false }, cursor: { show: false },
      scales: { y: { range: [0, 100] } },
      axes: [{ ...paint(), values: days }, { ...paint(), size: 44 }],
      plugins: [todayLine(curve.now), ...bands],
      series: [{},
        { stroke: colour("--level1"), width: 2, points: { show: false } },
        { stroke: colour("--level2"), width: 2, dash: [6, 4], points: { show: false } },
        { stroke: colour("--accent"), paths: () => null, points: { show: true, size: 8, fill: colour("--accent") } }],
    }, [curve.times, past, ahead, marks], target);
  }, [curve]);
  return html`<div class="chart" ref=${box} role="img" aria-label=${say("view.curve_label")}></div>`;
}

/** How many memories are at each level, day by day, stacked. */
export function LevelsChart({ life, names }) {
  const box = useChart((target, width) => {
    const times = life.days.map((day) => Date.parse(`${day}T12:00:00Z`) / 1000);
    const groups = Object.keys(life.groups);
    const tops = [];
    let below = times.map(() => 0);
    for (const group of groups) {
      below = below.map((count, n) => count + life.groups[group][n]);
      tops.push(below);
    }
    const series = groups.map((group, n) => ({
      stroke: colour(`--layer${n + 1}`), fill: colour(`--layer${n + 1}`), width: 1, points: { show: false },
    })).reverse();
    return new uPlot({
      width, height: 280, legend: { show: false }, cursor: { show: false },
      scales: { y: { range: (chart, low, high) => [0, Math.max(1, high * 1.05)] } },
      axes: [{ ...paint(), values: days }, { ...paint(), size: 56, values: (chart, splits) => splits.map((n) => (Number.isInteger(n) ? n.toLocaleString(language) : "")) }],
      plugins: [todayLine(times[Math.max(0, life.today)])],
      series: [{}, ...series],
    }, [times, ...tops.reverse()], target);
  }, [life]);
  return html`<figure><div class="chart" ref=${box} role="img" aria-label=${say("view.levels_label")}></div>
    <figcaption>${Object.keys(life.groups).map((group, n) => html`<span class="key"><span class="swatch layer${n + 1}" aria-hidden="true"></span>${names[group]}</span>`)}
    <span class="key">┊ ${say("chart.today")}</span></figcaption></figure>`;
}
