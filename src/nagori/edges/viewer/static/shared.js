// What all pages share: asking the server, saying words, and small pieces of the page.
import { html, useEffect, useLayoutEffect, useRef, useState } from "./vendor/preact-htm.js";

export { html, useEffect, useLayoutEffect, useRef, useState };

// --- words ---------------------------------------------------------------------------------------

let words = {};
export let language = "en";
export let languages = {};

export async function loadWords(wanted) {
  const headers = wanted ? { "Accept-Language": wanted } : {};
  const answer = await fetch("api/words", { headers });
  const told = await answer.json();
  ({ words, language, languages } = told);
  document.documentElement.lang = language;
}

/** The sentence of an id, with its values; numbers are written as the language does. */
export function say(id, values = {}) {
  const template = words[id];
  if (template === undefined) return id;
  return template.replace(/\{(\w+)\}/g, (whole, name) => {
    const value = values[name];
    return value === undefined ? whole : typeof value === "number" ? number(value) : String(value);
  });
}

export const number = (value) => value.toLocaleString(language);
export const percent = (share) => `${Math.round(share * 100)}%`;

export function dayName(day) {
  const [year, month, date] = day.split("-").map(Number);
  const noon = new Date(Date.UTC(year, month - 1, date, 12));
  const style = { year: "numeric", month: "long", day: "numeric", weekday: "short", timeZone: "UTC" };
  return noon.toLocaleDateString(language, style);
}

// --- asking the server ---------------------------------------------------------------------------

const TOKEN = "nagori-token";
export const token = () => sessionStorage.getItem(TOKEN) || "";
export const keepToken = (value) => sessionStorage.setItem(TOKEN, value);

export class Refusal extends Error {
  constructor(status, error) {
    super(error.message);
    this.status = status;
    this.error = error;
  }
}

function headersFor(scope) {
  const headers = { Authorization: `Bearer ${token()}`, "Accept-Language": language };
  for (const name of ["project", "agent"]) {
    if (scope && scope[name]) headers[`Nagori-${name}`] = encodeURIComponent(scope[name]);
  }
  return headers;
}

async function read(answer) {
  const body = await answer.json();
  if (!answer.ok) throw new Refusal(answer.status, body.error);
  return body;
}

async function reach(path, options) {
  try {
    return await fetch(path, options);
  } catch (fault) {
    if (fault.name === "AbortError") throw fault;
    throw new Refusal(0, { message: say("view.away") });
  }
}

/** What a page shows. */
export async function ask(page, fields = {}, { scope, signal } = {}) {
  const given = Object.entries(fields).filter(([, value]) => value !== "" && value != null && value !== false);
  const query = new URLSearchParams(given);
  const path = `api/${page}${given.length ? `?${query}` : ""}`;
  return read(await reach(path, { headers: headersFor(scope), signal, cache: "no-store" }));
}

async function post(path, fields, scope) {
  const headers = { ...headersFor(scope), "Content-Type": "application/json" };
  return read(await reach(path, { method: "POST", headers, body: JSON.stringify(fields) }));
}

export const askLong = (page, fields, scope) => post(`api/${page}`, fields, scope);
export const change = (name, fields) => post(`api/do/${name}`, fields);

/** Call `changed` with the number of every event after `last`, until `signal` aborts; when the stream breaks, go on
    where it was. */
export async function follow(last, changed, signal) {
  let wait = 1000;
  while (!signal.aborted) {
    try {
      const answer = await fetch(`../v1/events?after=${last}`, { headers: headersFor(), signal });
      if (!answer.ok) return;
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      let text = "";
      wait = 1000;
      for (;;) {
        const { value, done } = await reader.read();
        if (done) break;
        text += value;
        const events = text.split("\n\n");
        text = events.pop();
        for (const event of events) {
          const number = /^id: (\d+)$/m.exec(event);
          if (number) changed(last = Number(number[1]));
        }
      }
    } catch (fault) {
      if (signal.aborted) return;
    }
    await new Promise((done) => setTimeout(done, wait));
    wait = Math.min(wait * 2, 30000);
  }
}

// --- routing -------------------------------------------------------------------------------------

/** The place in the address: `#/memory/mem_1?from=…` is page "memory", rest "mem_1" and its fields. */
export function place() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const [page, ...rest] = path.split("/");
  return { page: page || "timeline", rest: decode(rest.join("/")), fields: new URLSearchParams(query) };
}

function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // somebody typed it
  }
}

export const address = (page, rest = "", fields = {}) => {
  const given = Object.entries(fields).filter(([, value]) => value);
  const query = given.length ? `?${new URLSearchParams(given)}` : "";
  return `#/${page}${rest ? `/${encodeURIComponent(rest)}` : ""}${query}`;
};

// --- pieces --------------------------------------------------------------------------------------

// Characters that turn the direction of text or do not show at all are shown by their number.
const HIDDEN = /[\u202a-\u202e\u2066-\u2069\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029]/g;
export const visible = (text) =>
  String(text).replace(HIDDEN, (one) => `⟨${one.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`);

/** Words of a memory: text alone, in its own direction, unable to leave its box. */
export const Words = ({ text, tag = "span", ...rest }) =>
  html`<${tag} dir="auto" class="words" ...${rest}>${visible(text)}</${tag}>`;

export const LEVELS = [1, 2, 3, 4];

export const LevelMark = ({ level }) =>
  html`<span class="mark level${level}"><span class="dot" aria-hidden="true"></span>${say(`level.name${level}`)}</span>`;

export const Strength = ({ value }) =>
  html`<span class="strength" title=${say("view.strength", { n: value })}>
    <span class="bar" aria-hidden="true"><span style=${{ width: `${Math.max(2, Math.min(100, value))}%` }}></span></span>
    <span aria-hidden="true">${value}</span><span class="hidden">${say("view.strength", { n: value })}</span>
  </span>`;

export const Marks = ({ row }) =>
  html`<span class="marks">
    ${row.protected && html`<span class="tag protected">${say("view.protected")}</span>`}
    ${row.forgotten && html`<span class="tag forgotten">${say("view.forgotten")}</span>`}
    ${row.superseded && html`<span class="tag superseded">${say("view.superseded")}</span>`}
    ${row.project && html`<bdi class="tag project">${visible(row.project)}</bdi>`}
    ${row.agent && html`<bdi class="tag agent">${visible(row.agent)}</bdi>`}
  </span>`;

/** One memory as a line: what it says, how much is left of it, and what is special about it. */
export const Row = ({ row, children, fields }) =>
  html`<div class="row level${row.level} ${row.forgotten ? "is-forgotten" : ""}">
    <a class="said" href=${address("memory", row.id, fields)}><${Words} text=${row.text} /></a>
    <div class="about">
      <${LevelMark} level=${row.level} /><${Strength} value=${row.strength} />
      <span class="kind">${say(`kind.${row.kind}`)}</span>
      <time datetime=${`${row.day}T${row.time}`}>${children ? row.day : ""} ${row.time}</time>
      <${Marks} row=${row} />
    </div>
    ${children}
  </div>`;

/** A field of a form that keeps what is typed, whatever else is drawn anew. */
export function Field({ tag = "input", initial = "", ...rest }) {
  const [value, setValue] = useState(initial);
  return html`<${tag} ...${rest} value=${value} onInput=${(event) => setValue(event.target.value)} />`;
}

/** A card with a heading. */
export const Card = ({ id, title, children, wide }) =>
  html`<section class="card ${wide ? "wide-card" : ""}" aria-labelledby=${id}><h2 id=${id}>${title}</h2>${children}</section>`;

export const Fault = ({ fault }) => fault && html`<p class="fault" role="alert">${fault.message}</p>`;
export const Waiting = ({ share }) => html`<p class="waiting" role="status">${say("view.waiting")}
  ${share !== undefined && html`<progress max="1" value=${share || undefined} aria-label=${say("view.waiting")}></progress>`}</p>`;

/** Ask for a page and keep its answer: [answer, fault, ask again]. */
export function useAnswer(asked, keys) {
  const [answer, setAnswer] = useState(null);
  const [fault, setFault] = useState(null);
  const [round, setRound] = useState(0);
  useEffect(() => {
    const stop = new AbortController();
    setFault(null);
    asked(stop.signal)
      .then((told) => !stop.signal.aborted && setAnswer(told))
      .catch((problem) => !stop.signal.aborted && setFault(problem));
    return () => stop.abort();
  }, [...keys, round]);
  return [answer, fault, () => setRound((n) => n + 1)];
}

/** Ask for a page that takes long: what was computed last is there at once, and the newest when it is ready.
    [answer, fault, wait for a fresh one]; an answer that was never computed has a `share` alone. */
export function useLongAnswer(page, fields, keys) {
  const [answer, setAnswer] = useState(null);
  const [fault, setFault] = useState(null);
  const [round, setRound] = useState(0);
  useEffect(() => {
    const stop = new AbortController();
    const look = async (wait) => {
      for (let pause = 250; !stop.signal.aborted; pause = Math.min(pause * 1.5, 2000)) {
        const told = await ask(page, { ...fields, wait }, { signal: stop.signal });
        if (stop.signal.aborted) return;
        setAnswer(told);
        if (told.fresh) return;
        await new Promise((done) => setTimeout(done, pause));
      }
    };
    setFault(null);
    look(round > 0 ? "1" : "").catch((problem) => !stop.signal.aborted && setFault(problem));
    return () => stop.abort();
  }, [...keys, round]);
  return [answer, fault, () => setRound((n) => n + 1)];
}

/** A dialogue; Escape and its cancel button close it, and the focus goes back to where it was. */
export function Dialog({ title, onClose, children }) {
  const box = useRef(null);
  useLayoutEffect(() => {
    const dialog = box.current;
    dialog.showModal();
    return () => dialog.close(); // which gives the focus back
  }, []);
  return html`<dialog ref=${box} aria-labelledby="dialog-title" onCancel=${(event) => { event.preventDefault(); onClose(); }}>
    <h2 id="dialog-title">${title}</h2>
    ${children}
  </dialog>`;
}

/** Tell screen readers, and everybody for some seconds. */
export function announce(text) {
  const box = document.getElementById("announcement");
  if (!box) return;
  box.textContent = text;
  clearTimeout(announce.timer);
  announce.timer = setTimeout(() => { box.textContent = ""; }, 6000);
}
