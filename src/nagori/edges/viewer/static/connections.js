// Connections: a small graph of what a memory or a text leads to. The list below it says the same.
import {
  Card, Fault, Field, Row, Waiting, address, html, say, useEffect, useLongAnswer, useRef, useState, visible,
} from "./shared.js";

const STEPS = 220;
const short = (text, letters) => { const whole = visible(text); return [...whole].length > letters ? `${[...whole].slice(0, letters).join("")}…` : whole; };

const label = (topic) => short(topic.name, 14);
const halfWidth = (text) => 12 + [...text].reduce((sum, letter) => sum + (letter.codePointAt(0) > 0x2e80 ? 7 : 4), 0);

/** Places of all nodes: those that are joined pull, all others push, names do not overlap, and nobody leaves the box.
    There are at most 37 nodes, so this takes milliseconds; the same graph always looks the same. */
function layOut(told, width, height) {
  const nodes = [{ x: 0, y: 0, wide: 24, high: 24, fixed: true }];
  const number = { "": 0 };
  told.topics.forEach((each, n) => {
    const turn = (2 * Math.PI * n) / told.topics.length;
    nodes.push({ x: Math.cos(turn) * width * 0.2, y: Math.sin(turn) * height * 0.22, wide: halfWidth(label(each)), high: 14 });
  });
  told.memories.forEach((row, n) => {
    const turn = (2 * Math.PI * (n + 0.5)) / told.memories.length;
    number[row.id] = nodes.length;
    nodes.push({ x: Math.cos(turn) * width * 0.36, y: Math.sin(turn) * height * 0.38, wide: 15, high: 15 });
  });
  const joins = told.edges.map((edge) => [edge.topic === null ? 0 : edge.topic + 1, number[edge.memory], edge.link])
    .filter(([a, b]) => b !== undefined && a !== b);
  const room = Math.sqrt((width * height) / nodes.length) * 0.6;
  const stay = (node) => {
    node.x = Math.max(node.wide + 6 - width / 2, Math.min(width / 2 - node.wide - 6, node.x));
    node.y = Math.max(node.high + 6 - height / 2, Math.min(height / 2 - node.high - 6, node.y));
  };
  const move = (node, dx, dy) => { if (!node.fixed) { node.x += dx; node.y += dy; stay(node); } };
  for (let step = 0; step < STEPS; step += 1) {
    const heat = 1 - step / STEPS;
    for (const node of nodes) { node.dx = -node.x * 0.12; node.dy = -node.y * 0.25; } // the middle pulls them all
    for (let a = 0; a < nodes.length; a += 1) {
      for (let b = a + 1; b < nodes.length; b += 1) {
        const dx = nodes[a].x - nodes[b].x || 0.1 * (a - b);
        const dy = nodes[a].y - nodes[b].y || 0.1;
        const far = Math.max(10, Math.hypot(dx, dy));
        const push = (room * room) / (far * far);
        nodes[a].dx += dx * push; nodes[a].dy += dy * push; nodes[b].dx -= dx * push; nodes[b].dy -= dy * push;
      }
    }
    for (const [a, b] of joins) {
      const dx = nodes[b].x - nodes[a].x;
      const dy = nodes[b].y - nodes[a].y;
      const pull = Math.hypot(dx, dy) / room / 3;
      nodes[a].dx += dx * pull; nodes[a].dy += dy * pull; nodes[b].dx -= dx * pull; nodes[b].dy -= dy * pull;
    }
    for (const node of nodes) {
      const far = Math.max(1, Math.hypot(node.dx, node.dy));
      const stride = Math.min(far, 30 * heat);
      move(node, (node.dx / far) * stride, (node.dy / far) * stride);
    }
  }
  for (let step = 0; step < 60; step += 1) {
    for (let a = 0; a < nodes.length; a += 1) {
      for (let b = a + 1; b < nodes.length; b += 1) {
        const dx = nodes[b].x - nodes[a].x;
        const dy = nodes[b].y - nodes[a].y;
        const across = nodes[a].wide + nodes[b].wide + 6 - Math.abs(dx);
        const down = nodes[a].high + nodes[b].high + 6 - Math.abs(dy);
        if (across <= 0 || down <= 0) continue;
        const [x, y] = down < across ? [0, (dy < 0 ? -down : down) / 2] : [(dx < 0 ? -across : across) / 2, 0];
        move(nodes[a], -x, -y);
        move(nodes[b], x, y);
      }
    }
  }
  return { nodes, joins };
}

function Graph({ told }) {
  const box = useRef(null);
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const measure = () => box.current && setWidth(Math.max(260, Math.floor(box.current.clientWidth)));
    const watch = new ResizeObserver(() => requestAnimationFrame(measure)); // drawing changes the size itself
    watch.observe(box.current);
    return () => watch.disconnect();
  }, []);
  const height = width < 560 ? 420 : 480;
  const { nodes, joins } = width ? layOut(told, width, height) : { nodes: [], joins: [] };
  const go = (place) => () => { location.hash = place; };
  return html`<figure class="graph" ref=${box}>
    ${width > 0 && html`<svg width=${width} height=${height} viewBox=${`${-width / 2} ${-height / 2} ${width} ${height}`} aria-hidden="true" focusable="false">
      ${joins.map(([a, b, link]) => html`<line class=${link ? "link" : "join"} x1=${nodes[a].x} y1=${nodes[a].y} x2=${nodes[b].x} y2=${nodes[b].y} />`)}
      ${told.topics.map((each, n) => { const { x, y, wide } = nodes[n + 1];
        return html`<g class="topic" transform=${`translate(${x} ${y})`} onClick=${go(address("connections", "", { text: each.name }))}>
          <title>${visible(each.name)}</title><rect x=${-wide} y="-14" width=${2 * wide} height="28" rx="14" /><text y="5">${label(each)}</text></g>`; })}
      ${told.memories.map((row, n) => { const node = nodes[n + 1 + told.topics.length];
        return html`<g class="memory level${row.level}" transform=${`translate(${node.x} ${node.y})`} onClick=${go(address("connections", row.id))}>
          <title>${visible(row.text)}</title><circle r="15" /><text y="5">${n + 1}</text></g>`; })}
      <g class="centre"><circle r="22" /><text y="6">${told.centre ? "●" : "?"}</text></g>
    </svg>`}
    <figcaption>${say("view.graph_caption")}</figcaption></figure>`;
}

function describe(told, row) {
  const shared = told.edges.filter((edge) => edge.memory === row.id && edge.topic !== null).map((edge) => visible(told.topics[edge.topic].name));
  const links = told.edges.filter((edge) => edge.memory === row.id && edge.link).map((edge) => say(`view.link_${edge.link}`));
  return [...links, ...(shared.length ? [say("view.shares", { words: [...new Set(shared)].join(", ") })] : [])];
}

const Neighbours = ({ told }) => html`<${Card} id="neighbours" title=${say("view.neighbours", { n: told.memories.length })}>
  <ol class="candidates numbered">${told.memories.map((row) => html`<li key=${row.id}><${Row} row=${row}>
    <p class="outcome">${describe(told, row).map((words) => html`<span dir="auto">${words}</span>`)}
      <a href=${address("connections", row.id)}>${say("view.go_on")}</a></p><//></li>`)}</ol><//>`;

const TopicList = ({ told }) => html`<${Card} id="leads" title=${say("view.leads_to")}>
  <ul class="chips">${told.topics.map((each) => html`<li><a class="chip" href=${address("connections", "", { text: each.name })}><bdi>${short(each.name, 40)}</bdi></a></li>`)}</ul><//>`;

function Found({ told }) {
  if (!told.topics.length && !told.memories.length) return html`<p class="empty">${say("view.no_connections")}</p>`;
  return html`<${Graph} told=${told} />
    ${told.topics.length > 0 && html`<${TopicList} told=${told} />`}
    ${told.memories.length > 0 && html`<${Neighbours} told=${told} />`}`;
}

/** Nothing was asked yet: the topics of the profile are places to begin. */
function Beginnings() {
  const [profile] = useLongAnswer("profile", {}, []);
  if (!profile || !profile.topics || !profile.topics.length) return null;
  return html`<${Card} id="leads" title=${say("view.begin_with")}>
    <ul class="chips">${profile.topics.map((each) => html`<li><a class="chip" href=${address("connections", "", { text: each.name })}><bdi>${short(each.name, 40)}</bdi></a></li>`)}</ul><//>`;
}

function Asked({ id, text }) {
  const [told, fault] = useLongAnswer("connections", { id, text }, [id, text]);
  const ready = told && told.edges;
  return html`<${Fault} fault=${fault} />
    ${!ready && !fault && html`<${Waiting} share=${told ? told.share : undefined} /><p class="hint">${say("view.connections_first")}</p>`}
    ${ready && told.centre && html`<${Row} row=${told.centre} />`}
    ${ready && html`<${Found} told=${told} />`}`;
}

export function Connections({ where }) {
  const id = where.rest;
  const text = id ? "" : where.fields.get("text") || "";
  const submit = (event) => {
    event.preventDefault();
    location.hash = address("connections", "", Object.fromEntries(new FormData(event.target)));
  };
  return html`<h1>${say("view.page_connections")}</h1>
    <p class="hint">${say("view.connections_hint")}</p>
    <form class="search" role="search" onSubmit=${submit}>
      <label class="grow">${say("view.lead_from")}<${Field} key=${text} name="text" initial=${text} maxlength="2000" required /></label>
      <button class="main">${say("view.follow")}</button></form>
    ${id || text ? html`<${Asked} key=${`${id} ${text}`} id=${id} text=${text} />` : html`<${Beginnings} />`}`;
}
