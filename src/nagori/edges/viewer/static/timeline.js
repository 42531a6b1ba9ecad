// Memories by day, newest first. Only the lines on the screen exist; the rest is height.
import {
  LEVELS, Fault, Row, Waiting, address, announce, ask, dayName, follow, html, number, say, useAnswer, useEffect, useLayoutEffect, useRef, useState,
} from "./shared.js";

const MARGIN = 600; // pixels above and below the screen that are drawn, too
const AHEAD = 3000; // pixels before the end at which the next page is asked for
const FIRST = 30; // memories that are asked for first: a screen of them
const PAGE = 100;
const heights = () => (innerWidth < 640 ? { day: 44, row: 104 } : { day: 44, row: 76 });

/** Lines with their places: a heading before the first memory of each day. */
class Lines {
  constructor() {
    this.lines = [];
    this.tops = [0];
    this.known = new Map();
  }

  get height() { return this.tops[this.lines.length]; }

  add(rows) {
    const { day, row } = heights();
    for (const each of rows) {
      if (this.known.has(each.id)) continue;
      const before = this.lines.length ? this.lines[this.lines.length - 1].row : null;
      if (!before || before.day !== each.day) this.push({ day: each.day, row: null, at: each.day }, day);
      this.known.set(each.id, this.lines.length);
      this.push({ row: each }, row);
    }
  }

  push(line, height) {
    this.lines.push(line);
    this.tops.push(this.height_of_last() + height);
  }

  height_of_last() { return this.tops[this.tops.length - 1]; }

  /** The index of the line at a height. */
  at(y) {
    let low = 0;
    let high = this.lines.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.tops[middle] <= y) low = middle; else high = middle - 1;
    }
    return low;
  }

  rows() { return this.lines.filter((line) => line.row).map((line) => line.row); }
}

const FILTERS = ["level", "kind", "protected", "forgotten", "project", "agent", "until"];

function Filters({ fields, frame, counts, known, onChange }) {
  const set = (name) => (event) => {
    const box = event.target;
    onChange({ ...fields, [name]: box.type === "checkbox" ? (box.checked ? "1" : "") : box.value });
  };
  const options = (name) => [...new Set(known.map((row) => row[name]).filter(Boolean))].slice(0, 200);
  const used = Object.values(fields).filter(Boolean).length;
  return html`<details class="filter-box" open=${innerWidth >= 640 || used > 0}><summary>${say("view.filters")}</summary>
    <form class="filters" aria-label=${say("view.filters")} onSubmit=${(event) => event.preventDefault()}>
    <label>${say("view.level")}<select onChange=${set("level")}>
      <option value="" selected=${!fields.level}>${say("view.all")}</option>
      ${LEVELS.map((level) => html`<option value=${level} selected=${fields.level === String(level)}>
        ${say(`level.name${level}`)} ${counts ? `(${number(counts.levels[level] || 0)})` : ""}</option>`)}
    </select></label>
    <label>${say("view.kind")}<select onChange=${set("kind")}>
      <option value="" selected=${!fields.kind}>${say("view.all")}</option>
      ${frame.kinds.map((kind) => html`<option value=${kind} selected=${fields.kind === kind}>${say(`kind.${kind}`)}</option>`)}
    </select></label>
    ${["project", "agent"].map((name) => html`<label>${say(`view.as_${name}`)}
      <input list=${`known-${name}`} value=${fields[name] || ""} onChange=${set(name)} placeholder=${say("view.all")} />
      <datalist id=${`known-${name}`}>${options(name).map((value) => html`<option value=${value}></option>`)}</datalist></label>`)}
    <label>${say("view.until")}<input type="date" value=${fields.until || ""} onChange=${set("until")} /></label>
    <label class="check"><input type="checkbox" checked=${!!fields.protected} onChange=${set("protected")} />${say("view.only_protected")}</label>
    <label class="check"><input type="checkbox" checked=${!!fields.forgotten} onChange=${set("forgotten")} />${say("view.with_forgotten")}</label>
  </form></details>`;
}

export function Timeline({ where, frame }) {
  const fields = Object.fromEntries(FILTERS.map((name) => [name, where.fields.get(name) || ""]));
  const key = JSON.stringify(fields);
  const list = useRef(null);
  const state = useRef(null);
  const [counts] = useAnswer((signal) => ask("life", {}, { signal }), []); // comes later; nothing waits for it
  const [, redraw] = useState(0);
  const draw = () => redraw((n) => n + 1);

  const scope = { project: fields.project, agent: fields.agent };
  const { project, agent, ...filter } = fields;

  const more = async () => {
    const mine = state.current;
    if (mine.busy || mine.done) return;
    mine.busy = true;
    try {
      const limit = mine.next ? PAGE : FIRST;
      const told = await ask("timeline", { ...filter, limit, after: mine.next }, { scope, signal: mine.stop.signal });
      mine.lines.add(told.rows);
      mine.next = told.next;
      mine.done = !told.next;
      mine.fault = null;
      if (mine.seq === undefined) listen(mine, told.seq);
    } catch (fault) {
      if (mine.stop.signal.aborted) return;
      mine.fault = fault;
      mine.done = true;
    } finally {
      mine.busy = false;
    }
    if (mine === state.current) draw();
  };

  /** Look again when something happened after the first page was read. */
  const listen = (mine, seq) => {
    mine.seq = seq;
    let waiting = null; // many events come at once; one look is enough for them
    follow(seq, (number) => {
      if (waiting || number <= mine.seq) return;
      waiting = setTimeout(() => { waiting = null; if (!mine.stop.signal.aborted) refresh(); }, 200);
    }, mine.stop.signal);
  };

  /** The newest page again: what is new comes first, what is known may have changed. */
  const refresh = async () => {
    const mine = state.current;
    const told = await ask("timeline", filter, { scope, signal: mine.stop.signal }).catch(() => null);
    if (!told || mine !== state.current) return;
    mine.seq = told.seq;
    const fresh = told.rows.filter((row) => !mine.lines.known.has(row.id));
    for (const row of told.rows) {
      const index = mine.lines.known.get(row.id);
      if (index !== undefined) mine.lines.lines[index].row = row;
    }
    mine.fresh = fresh.length;
    if (fresh.length && scrollY < 200) merge(told.rows);
    draw();
  };

  const merge = (rows) => {
    const mine = state.current;
    const lines = new Lines();
    lines.add([...rows, ...mine.lines.rows()]);
    mine.lines = lines;
    announce(say("view.new_memories", { n: mine.fresh }));
    mine.fresh = 0;
  };

  const showFresh = async () => {
    const mine = state.current;
    const told = await ask("timeline", filter, { scope, signal: mine.stop.signal }).catch(() => null);
    if (told) merge(told.rows);
    scrollTo(0, 0);
    draw();
  };

  useEffect(() => {
    const stop = new AbortController();
    state.current = { key, lines: new Lines(), next: null, done: false, busy: false, stop, fresh: 0, fault: null };
    draw();
    more();

    return () => stop.abort();
  }, [key]);

  useEffect(() => {
    let waiting = false;
    const moved = () => {
      if (waiting) return;
      waiting = true;
      requestAnimationFrame(() => { waiting = false; draw(); });
    };
    const resized = () => {
      const mine = state.current;
      if (mine) {
        const lines = new Lines();
        lines.add(mine.lines.rows());
        mine.lines = lines;
      }
      moved();
    };
    addEventListener("scroll", moved, { passive: true });
    addEventListener("resize", resized);
    return () => { removeEventListener("scroll", moved); removeEventListener("resize", resized); };
  }, []);

  // Lines of a filter that was changed just now are not shown any more.
  const mine = state.current && state.current.key === key ? state.current : { lines: new Lines(), busy: true, fresh: 0 };
  const offset = list.current ? list.current.getBoundingClientRect().top + scrollY : 0;
  const top = scrollY - offset;
  useLayoutEffect(() => {
    if (mine === state.current && !mine.done && mine.lines.height - (scrollY - offset) < innerHeight + AHEAD) more();
  });

  const choose = (next) => { location.hash = address("timeline", "", next); };

  /** Up and down (and k, j) go from memory to memory, also beyond what is drawn. */
  const keyed = (event) => {
    const step = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 }[event.key];
    const line = event.target.closest && event.target.closest("[data-line]");
    if (!step || !line || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const { lines } = mine.lines;
    let index = Number(line.dataset.line) + step;
    while (lines[index] && !lines[index].row) index += step;
    if (!lines[index]) return;
    mine.focus = index;
    const y = mine.lines.tops[index];
    if (y < top + 20 || y > top + innerHeight - 160) scrollTo(0, offset + y - innerHeight / 2);
    draw();
    requestAnimationFrame(() => list.current.querySelector(`[data-line="${index}"] a`)?.focus({ preventScroll: true }));
  };

  const { lines } = mine;
  const shown = new Set();
  if (lines.lines.length) {
    const last = lines.at(top + innerHeight + MARGIN);
    for (let n = lines.at(Math.max(0, top - MARGIN)); n <= last; n += 1) shown.add(n);
    const focused = list.current && list.current.contains(document.activeElement)
      ? document.activeElement.closest("[data-line]") : null;
    if (focused && lines.lines[Number(focused.dataset.line)]) shown.add(Number(focused.dataset.line));
    if (mine.focus !== undefined && lines.lines[mine.focus]) shown.add(mine.focus);
  }
  const order = [...shown].sort((a, b) => a - b);
  return html`
    <h1>${say("view.page_timeline")} <span class="count">${counts && say("view.memories", { n: counts.total })}</span></h1>
    <${Filters} fields=${fields} frame=${frame} counts=${counts} known=${lines.rows().slice(0, 2000)} onChange=${choose} />
    <${Fault} fault=${mine.fault} />
    ${mine.fresh > 0 && html`<button class="fresh" onClick=${showFresh}>${say("view.new_memories", { n: mine.fresh })}</button>`}
    <ol class="lines" ref=${list} aria-busy=${mine.busy && !lines.lines.length ? "true" : "false"} style=${{ height: `${lines.height}px` }} onKeyDown=${keyed}>
      ${order.map((n) => {
        const line = lines.lines[n];
        const style = { transform: `translateY(${lines.tops[n]}px)`, height: `${lines.tops[n + 1] - lines.tops[n]}px` };
        return line.row
          ? html`<li key=${line.row.id} data-line=${n} style=${style}><${Row} row=${line.row} /></li>`
          : html`<li key=${`day ${line.day}`} class="day" style=${style}><h2>${dayName(line.day)}</h2></li>`;
      })}
    </ol>
    ${mine.done && !mine.fault && html`<p class="end">${lines.lines.length ? say("view.end") : say("view.nothing")}</p>`}
    ${mine.busy && !lines.lines.length && html`<${Waiting} />`}`;
}
