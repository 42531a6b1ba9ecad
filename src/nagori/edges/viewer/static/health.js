// Health: what the doctor finds, which copies there are, and which parts are in use.
import { Fault, Waiting, ask, html, number, say, useAnswer, visible } from "./shared.js";

const SIGNS = { ok: "✓", warn: "!", fail: "✗" };

const FindingLine = ({ one }) => html`<li class=${`finding ${one.state}`}>
  <span class="sign" aria-hidden="true">${SIGNS[one.state]}</span>
  <div><strong>${one.name}</strong> <span class="hidden">${say(`view.state_${one.state}`)}</span>
    <p dir="auto" class="words">${visible(one.detail)}</p>
    ${one.advice && html`<p class="advice" dir="auto">${visible(one.advice)}</p>`}</div></li>`;

export function Health() {
  const [told, fault, again] = useAnswer((signal) => ask("health", {}, { signal }), []);
  const parts = told && [
    ["view.folder", told.folder], ["view.store", told.store], ["view.journal", `${told.journal} (${say("view.events", { n: told.events })})`],
    ["view.embedder", told.embedder || say("view.none")], ["view.model", told.llm || say("view.none")],
  ];
  const faults = told ? told.findings.filter((one) => one.state !== "ok").length : 0;
  return html`<h1>${say("view.page_health")}</h1>
    <${Fault} fault=${fault} />
    ${!told && !fault && html`<${Waiting} />`}
    ${told && html`
      <p class="verdict ${faults ? "warn" : "ok"}">${faults ? say("view.problems", { n: faults }) : say("view.all_well")}
        <button onClick=${again}>${say("view.check_again")}</button></p>
      ${told.trouble && html`<p class="fault">${told.trouble}</p>`}
      <section aria-labelledby="findings"><h2 id="findings">${say("view.checks")}</h2>
        <ul class="findings">${told.findings.map((one) => html`<${FindingLine} one=${one} />`)}</ul></section>
      <section aria-labelledby="copies"><h2 id="copies">${say("view.copies")}</h2>
        ${told.copies.length === 0 ? html`<p>${say("view.no_copies")}</p>` : html`<div class="scroll" tabindex="0"><table>
          <thead><tr><th>${say("view.when")}</th><th>${say("view.what")}</th><th>${say("view.size")}</th></tr></thead>
          <tbody>${told.copies.map((one) => html`<tr><td>${one.at}</td><td>${one.act}</td><td>${one.size || "–"}</td></tr>`)}</tbody></table></div>`}</section>
      <section aria-labelledby="parts"><h2 id="parts">${say("view.parts")}</h2>
        <dl>${parts.map(([id, value]) => html`<dt>${say(id)}</dt><dd class="words">${value}</dd>`)}</dl></section>`}`;
}
