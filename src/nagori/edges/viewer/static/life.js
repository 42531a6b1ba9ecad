// Life: how much is left of everything, what the next night will do, and what it costs.
import { LevelsChart } from "./charts.js";
import { Dialog, Fault, LEVELS, Row, Waiting, announce, ask, change, html, number, percent, say, useAnswer, useState } from "./shared.js";

const GROUPS = ["full", "summary", "trace", "archived"];
const groupNames = () => ({ ...Object.fromEntries(GROUPS.map((group, n) => [group, say(`level.name${n + 1}`)])), forgotten: say("chart.forgotten") });

function Plan({ refresh }) {
  const [plan, fault, again] = useAnswer((signal) => ask("plan", {}, { signal }), []);
  const [asking, setAsking] = useState(null);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState(null);
  const run = async (confirmed) => {
    setBusy(true);
    setProblem(null);
    setAsking(null);
    try {
      const answer = await change("cycle", { confirmed });
      if (answer.asks) setAsking(answer);
      else {
        announce(answer.words);
        again();
        refresh();
      }
    } catch (trouble) {
      setProblem(trouble);
    } finally {
      setBusy(false);
    }
  };
  return html`<section aria-labelledby="plan"><h2 id="plan">${say("view.plan")}</h2>
    <${Fault} fault=${fault || problem} />
    ${!plan && !fault && html`<${Waiting} />`}
    ${plan && plan.steps === 0 && html`<p>${say("view.plan_nothing")}</p>`}
    ${plan && plan.steps > 0 && html`
      <p>${say("view.plan_sum", { n: plan.steps, moves: plan.moves, total: plan.total })}</p>
      <ul class="notes">${plan.notes.map((note) => html`<li>${note}</li>`)}</ul>
      ${plan.kinds.map((kind) => html`<details class="step" open=${plan.kinds.length < 4}>
        <summary><strong>${say(`step.${kind.act}`)}</strong> × ${number(kind.n)} <span class="hint">${kind.reason}</span></summary>
        <ul class="candidates">${kind.examples.map((each) => html`<li><${Row} row=${each.row}><p class="outcome">
          ${each.to && html`<span class="tag">→ ${say(`level.name${each.to}`)}</span>`} ${each.why}</p><//></li>`)}</ul>
      </details>`)}
      <p class="buttons"><button class="main" disabled=${busy} onClick=${() => run(false)}>${say("view.run_now")}</button></p>`}
    ${asking && html`<${Dialog} title=${say("view.run_asks")} onClose=${() => setAsking(null)}>
      <p>${say("view.run_asks_text", { moves: asking.moves, total: asking.total })}</p>
      <p class="buttons"><button onClick=${() => setAsking(null)}>${say("view.cancel")}</button>
      <button class="danger" onClick=${() => run(true)}>${say("view.run_now")}</button></p><//>`}
  </section>`;
}

function Capacity({ life }) {
  const share = life.capacity ? life.active / life.capacity : 0;
  return html`<section aria-labelledby="capacity"><h2 id="capacity">${say("view.capacity")}</h2>
    <p><meter min="0" max="1" high="0.8" value=${share} aria-label=${say("view.capacity")}></meter>
      ${say("view.of_capacity", { n: life.active, limit: life.capacity, share: percent(share) })}</p>
    <p>${say("view.protected_of", { n: life.protected, limit: life.protected_limit })}</p></section>`;
}

function Costs() {
  const [costs, fault] = useAnswer((signal) => ask("costs", {}, { signal }), []);
  if (!costs) return html`<${Fault} fault=${fault} />`;
  const paid = costs.spent || costs.models.length || costs.unknown.length;
  return html`<section aria-labelledby="costs"><h2 id="costs">${say("view.costs")}</h2>
    ${!paid && html`<p>${say("view.costs_nothing")}</p>`}
    ${costs.spent && html`<p>${say("view.spent", { usd: costs.spent, n: costs.days })}</p>`}
    ${costs.models.map((each) => html`<p>${say("view.estimate", each)}</p>`)}
    ${costs.unknown.map((each) => html`<p>${each}</p>`)}</section>`;
}

function LevelTable({ life, names }) {
  const last = life.days.length - 1;
  const columns = [...new Set([0, Math.max(0, life.today), last])];
  return html`<details><summary>${say("view.as_table")}</summary><div class="scroll" tabindex="0"><table>
    <thead><tr><th>${say("view.level")}</th>${columns.map((n) => html`<th>${life.days[n]}${n === life.today ? ` (${say("chart.today")})` : ""}</th>`)}</tr></thead>
    <tbody>${Object.keys(life.groups).map((group) => html`<tr><th>${names[group]}</th>${columns.map((n) => html`<td>${number(life.groups[group][n])}</td>`)}</tr>`)}</tbody>
  </table></div></details>`;
}

function Levels({ names }) {
  const [told, fault] = useAnswer((signal) => ask("levels", {}, { signal }), []);
  if (!told) return fault ? html`<${Fault} fault=${fault} />` : html`<${Waiting} />`;
  return html`<${LevelsChart} life=${told} names=${names} />
    <p class="hint">${say("view.forecast_hint")}</p>
    <${LevelTable} life=${told} names=${names} />`;
}

export function Life({ frame }) {
  const [life, fault, again] = useAnswer((signal) => ask("life", {}, { signal }), []);
  const names = groupNames();
  return html`<h1>${say("view.page_life")}</h1>
    <${Fault} fault=${fault} />
    ${!life && !fault && html`<${Waiting} />`}
    ${life && html`<section aria-labelledby="levels"><h2 id="levels">${say("chart.levels")}</h2>
      <p class="sums">${LEVELS.map((level) => html`<span class="sum level${level}"><strong>${number(life.levels[level] || 0)}</strong> ${say(`level.name${level}`)}</span>`)}</p>
      <${Levels} key=${life.total} names=${names} /></section>`}
    ${frame.whole && html`<${Plan} refresh=${again} />`}
    ${life && html`<${Capacity} life=${life} />`}
    ${frame.pages.includes("costs") && html`<${Costs} />`}`;
}
