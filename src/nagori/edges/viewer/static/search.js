// Search as the hook sees it: what a prompt would be given, why, and what was left out.
import { Fault, Field, Row, Waiting, address, askLong, html, percent, place, say, useEffect, useState, visible } from "./shared.js";

const Reasons = ({ row }) => html`<ul class="reasons">${row.reasons.map((reason) => html`<li>${reason}</li>`)}</ul>`;

const Candidate = ({ row, prompt }) => html`<li>
  <${Row} row=${row} fields=${{ prompt }}>
    <p class="outcome">
      ${row.confidence !== null && html`<span class="sure">${say("view.confidence", { n: percent(row.confidence) })}</span>`}
      ${row.outcome === "told"
        ? html`<span class="cost">${say("view.tokens", { n: row.tokens })}</span>`
        : html`<span class="tag left-out">${say(`view.out_${row.outcome}`)}</span>`}
    </p>
    ${row.reasons.length > 0 && (row.outcome === "told" ? html`<${Reasons} row=${row} />`
      : html`<details><summary>${say("view.why")}</summary><${Reasons} row=${row} /></details>`)}
  <//></li>`;

function understood(time) {
  const from = time.since || "…";
  const until = time.until || "…";
  return say(time.certain ? "view.time_window" : "view.time_about", { phrase: time.phrase, from, until });
}

const FEW = 6; // left-out memories that are drawn before somebody asks for all of them

function LeftOut({ rows, prompt }) {
  const [all, setAll] = useState(false);
  return html`<ol class="candidates out">${(all ? rows : rows.slice(0, FEW)).map((row) => html`<${Candidate} key=${row.id} row=${row} prompt=${prompt} />`)}</ol>
    ${rows.length > FEW && html`<p><button onClick=${() => setAll(!all)} aria-expanded=${all ? "true" : "false"}>${all ? say("view.less") : say("view.show_others", { n: rows.length })}</button></p>`}`;
}

function Answer({ told, prompt }) {
  const given = told.candidates.filter((each) => each.outcome === "told");
  const out = told.candidates.filter((each) => each.outcome !== "told");
  return html`
    <section aria-labelledby="injected">
      <h2 id="injected">${say("view.injected")}</h2>
      ${told.time && html`<p class="time">${understood(told.time)}</p>`}
      ${told.text
        ? html`<p>${say("view.injected_sum", { n: given.length, tokens: told.tokens, budget: told.budget, sure: percent(told.confidence) })}</p>
               <pre class="block" tabindex="0" dir="auto">${visible(told.text).replaceAll("⟨000A⟩", "\n")}</pre>`
        : html`<p class="silent">${say(`view.silent_${told.silent}`, { sure: percent(told.confidence), required: percent(told.required) })}</p>`}
    </section>
    ${given.length > 0 && html`<section aria-labelledby="given"><h2 id="given">${say("view.why_each")}</h2>
      <ol class="candidates">${given.map((row) => html`<${Candidate} key=${row.id} row=${row} prompt=${prompt} />`)}</ol></section>`}
    ${out.length > 0 && html`<section aria-labelledby="out"><h2 id="out">${say("view.left_out", { n: out.length })}</h2>
      <${LeftOut} key=${prompt} rows=${out} prompt=${prompt} /></section>`}`;
}

export function Search({ where }) {
  const asked = { prompt: where.fields.get("prompt") || "", project: where.fields.get("project") || "", session: where.fields.get("session") || "" };
  const key = JSON.stringify(asked);
  const [answer, setAnswer] = useState({});
  const busy = asked.prompt && answer.key !== key;
  const { told, fault } = answer;
  useEffect(() => {
    if (!asked.prompt) return;
    askLong("context", asked)
      .then((found) => setAnswer({ key, told: found }))
      .catch((problem) => setAnswer({ key, fault: problem }));
  }, [key]);
  const submit = (event) => {
    event.preventDefault();
    const form = new FormData(event.target);
    location.hash = address("search", "", Object.fromEntries(form));
  };
  const onKey = (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) event.target.form.requestSubmit();
  };
  return html`
    <h1>${say("view.page_search")}</h1>
    <p class="hint">${say("view.search_hint")}</p>
    <form class="search" role="search" onSubmit=${submit}>
      <label class="wide">${say("view.prompt")}
        <${Field} key=${asked.prompt} tag="textarea" name="prompt" rows="2" required onKeyDown=${onKey} initial=${asked.prompt} /></label>
      <label>${say("view.project")}<${Field} key=${asked.project} name="project" initial=${asked.project} /></label>
      <label>${say("view.session")}<${Field} key=${asked.session} name="session" initial=${asked.session} /></label>
      <button class="main">${say("view.ask")}</button>
    </form>
    <${Fault} fault=${fault} />
    ${busy && !told && html`<${Waiting} />`}
    <div aria-busy=${busy ? "true" : "false"}>${told && asked.prompt && html`<${Answer} told=${told} prompt=${asked.prompt} />`}</div>`;
}
