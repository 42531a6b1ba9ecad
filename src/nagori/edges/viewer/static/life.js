// Life: how much is left of everything, what the next night will do, and what it costs.
import { LevelsChart } from "./charts.js";
import {
  Card, Dialog, Fault, LEVELS, Row, Waiting, announce, ask, change, html, number, percent, say, useAnswer, useLongAnswer, useState, visible,
} from "./shared.js";

const GROUPS = ["full", "summary", "trace", "archived"];
const groupNames = () => ({ ...Object.fromEntries(GROUPS.map((group, n) => [group, say(`level.name${n + 1}`)])), forgotten: say("chart.forgotten") });

/** When an answer was computed that is not the newest one, and how far the new one is. */
const Renewed = ({ told, at }) => (told.fresh ? null : html`<span class="renewing" role="status">
  ${at ? say("view.as_of", { at }) : ""} <progress max="1" value=${told.share || undefined} aria-label=${say("view.waiting")}></progress></span>`);

function Plan({ refresh }) {
  const [told, fault, again] = useLongAnswer("plan", {}, []);
  const plan = told && told.steps !== undefined ? told : null;
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
  return html`<${Card} id="plan" title=${say("view.plan")} wide>
    <${Fault} fault=${fault || problem} />
    ${!plan && !fault && html`<${Waiting} share=${told ? told.share : undefined} />`}
    ${plan && plan.steps === 0 && html`<p>${say("view.plan_nothing")}</p>`}
    ${plan && plan.steps > 0 && html`
      <p>${say("view.plan_sum", { n: plan.steps, moves: plan.moves, total: plan.total })} <${Renewed} told=${plan} at=${plan.at} /></p>
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
      <button class="danger" onClick=${() => run(true)}>${say("view.run_now")}</button></p><//>`}<//>`;
}

function Capacity({ life }) {
  const share = life.capacity ? life.active / life.capacity : 0;
  return html`<${Card} id="capacity" title=${say("view.capacity")}>
    <p><meter min="0" max="1" high="0.8" value=${share} aria-label=${say("view.capacity")}></meter>
      ${say("view.of_capacity", { n: life.active, limit: life.capacity, share: percent(share) })}</p>
    <p>${say("view.protected_of", { n: life.protected, limit: life.protected_limit })}</p><//>`;
}

function Costs() {
  const [costs, fault] = useAnswer((signal) => ask("costs", {}, { signal }), []);
  if (!costs) return html`<${Fault} fault=${fault} />`;
  const paid = costs.spent || costs.models.length || costs.unknown.length;
  return html`<${Card} id="costs" title=${say("view.costs")}>
    ${!paid && html`<p>${say("view.costs_nothing")}</p>`}
    ${costs.spent && html`<p>${say("view.spent", { usd: costs.spent, n: costs.days })}</p>`}
    ${costs.models.map((each) => html`<p>${say("view.estimate", each)}</p>`)}
    ${costs.unknown.map((each) => html`<p>${each}</p>`)}<//>`;
}

function LevelTable({ life, names }) {
  const last = life.days.length - 1;
  const columns = [...new Set([0, Math.max(0, life.today), last])];
  return html`<details><summary>${say("view.as_table")}</summary><div class="scroll" tabindex="0"><table>
    <thead><tr><th>${say("view.level")}</th>${columns.map((n) => html`<th>${life.days[n]}${n === life.today ? ` (${say("chart.today")})` : ""}</th>`)}</tr></thead>
    <tbody>${Object.keys(life.groups).map((group) => html`<tr><th>${names[group]}</th>${columns.map((n) => html`<td>${number(life.groups[group][n])}</td>`)}</tr>`)}</tbody>
  </table></div></details>`;
}

function Levels({ names, total }) {
  const [told, fault] = useLongAnswer("levels", {}, [total]);
  if (!told || !told.days) return fault ? html`<${Fault} fault=${fault} />` : html`<${Waiting} share=${told ? told.share : undefined} />`;
  return html`<${LevelsChart} life=${told} names=${names} />
    <p class="hint">${say("view.forecast_hint")} <${Renewed} told=${told} /></p>
    <${LevelTable} life=${told} names=${names} />`;
}

/** The settings that nagori learned, why, and a way back. */
function Policy() {
  const [told, fault, again] = useAnswer((signal) => ask("policy", {}, { signal }), []);
  const [asking, setAsking] = useState(null);
  const [problem, setProblem] = useState(null);
  if (!told) return fault ? html`<${Fault} fault=${fault} />` : html`<${Waiting} />`;
  const act = async () => {
    setProblem(null);
    try {
      await change(asking, asking === "policy_back" ? { seq: told.versions[0].seq } : {});
      announce(say(`view.done_${asking}`));
      again();
    } catch (trouble) {
      setProblem(trouble);
    }
    setAsking(null);
  };
  const learned = told.settings.filter((each) => each.origin === "learned").length;
  return html`<${Card} id="policy" title=${say("view.policy")}>
    <p>${told.off ? say("view.policy_off") : learned ? say("view.policy_learned", { n: learned }) : say("view.policy_nothing")}</p>
    <${Fault} fault=${problem} />
    ${told.versions.length > 0 && html`<ol class="history">${told.versions.map((each, n) => html`<li key=${each.seq}><span>${each.words.map((line) => html`<span class="line">${line}</span>`)}</span>
      ${n === 0 && told.can_go_back && html`<button onClick=${() => setAsking("policy_back")}>${say("view.policy_back")}</button>`}</li>`)}</ol>`}
    <details><summary>${say("view.policy_settings")}</summary><div class="scroll" tabindex="0"><table>
      <thead><tr><th scope="col">${say("view.setting")}</th><th scope="col">${say("view.value")}</th><th scope="col">${say("view.origin")}</th></tr></thead>
      <tbody>${told.settings.map((each) => html`<tr><th scope="row">${visible(each.setting)}</th><td>${number(each.value)}</td><td>${say(`view.origin_${each.origin}`)}</td></tr>`)}</tbody></table></div>
      ${!told.off && html`<p class="buttons"><button onClick=${() => setAsking("policy_off")}>${say("view.switch_off")}</button></p>`}</details>
    ${asking && html`<${Dialog} title=${say(asking === "policy_back" ? "view.policy_back" : "view.switch_off")} onClose=${() => setAsking(null)}>
      <p>${say(`view.ask_${asking}`)}</p>
      <p class="buttons"><button onClick=${() => setAsking(null)}>${say("view.cancel")}</button>
      <button class="main" onClick=${act}>${say(asking === "policy_back" ? "view.policy_back" : "view.switch_off")}</button></p><//>`}<//>`;
}

export function Life({ frame }) {
  const [life, fault, again] = useAnswer((signal) => ask("life", {}, { signal }), []);
  const names = groupNames();
  return html`<h1>${say("view.page_life")}</h1>
    <${Fault} fault=${fault} />
    ${!life && !fault && html`<${Waiting} />`}
    ${life && html`<p class="sums">${LEVELS.map((level) => html`<span class="sum level${level}"><span class="dot" aria-hidden="true"></span><strong>${number(life.levels[level] || 0)}</strong> <span>${say(`level.name${level}`)}</span></span>`)}</p>`}
    <${Card} id="levels" title=${say("chart.levels")} wide><${Levels} names=${names} total=${life ? life.total : 0} /><//>
    ${frame.whole && html`<${Plan} refresh=${again} />`}
    <div class="cards">
      ${life && html`<${Capacity} life=${life} />`}
      ${frame.pages.includes("costs") && html`<${Costs} />`}
      ${frame.whole && html`<${Policy} />`}
    </div>`;
}
