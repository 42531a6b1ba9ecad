// Conversations: the recent sessions, and the threads of one of them.
import { Card, Fault, Row, Waiting, Words, address, ask, html, number, say, useAnswer, visible } from "./shared.js";

const speakers = (all) => all.map(([name, n]) => `${visible(name)} ${number(n)}`).join(" · ");

const SessionLine = ({ one }) => html`<li class="session">
  <a href=${address("conversations", one.session)}><${Words} text=${one.session} /></a>
  <p class="about"><time>${one.latest}</time> <span>${say("view.turns", { n: one.turns })}</span>
    <span>${say("view.threads", { n: one.threads })}</span>
    ${one.project && html`<bdi class="tag project">${visible(one.project)}</bdi>`}
    <bdi class="speakers">${speakers(one.speakers)}</bdi></p></li>`;

function Sessions() {
  const [told, fault] = useAnswer((signal) => ask("sessions", {}, { signal }), []);
  return html`<h1>${say("view.page_conversations")}</h1>
    <p class="hint">${say("view.conversations_hint")}</p>
    <${Fault} fault=${fault} />
    ${!told && !fault && html`<${Waiting} />`}
    ${told && told.sessions.length === 0 && html`<p class="empty">${say("view.no_conversations")}</p>`}
    ${told && html`<ul class="sessions">${told.sessions.map((one) => html`<${SessionLine} key=${one.session} one=${one} />`)}</ul>`}`;
}

const TurnLine = ({ turn }) => html`<li class="said-by ${turn.role}">
  <p class="by"><bdi>${visible(turn.speaker || say(`view.role_${turn.role}`))}</bdi> <time>${turn.at}</time></p>
  <${Words} tag="p" text=${turn.text} /></li>`;

function ThreadCard({ one, place }) {
  return html`<${Card} id=${`thread-${place}`} title=${html`<time>${one.began}</time> – <time>${one.latest}</time>`}>
    <p class="about"><span class="tag ${one.open ? "now" : ""}">${one.open ? one.end : say("view.thread_ended", { why: one.end })}</span>
      <span>${say("view.turns", { n: one.count })}</span>
      ${one.project && html`<bdi class="tag project">${visible(one.project)}</bdi>`}</p>
    ${one.summary && html`<h3>${say("view.kept_of_it")}</h3><${Row} row=${one.summary} />`}
    <details open=${place === 0}><summary>${say("view.what_was_said")}</summary>
      ${one.left_out > 0 && html`<p class="hint">${say("view.earlier_turns", { n: one.left_out })}</p>`}
      <ol class="talk">${one.turns.map((turn) => html`<${TurnLine} turn=${turn} />`)}</ol></details><//>`;
}

function Threads({ session }) {
  const [told, fault] = useAnswer((signal) => ask("threads", { session }, { signal }), [session]);
  return html`<p><a href=${address("conversations")}>${say("view.all_conversations")}</a></p>
    <h1 class="title"><${Words} text=${session} /></h1>
    <${Fault} fault=${fault} />
    ${!told && !fault && html`<${Waiting} />`}
    ${told && told.threads.length === 0 && html`<p class="empty">${say("view.no_conversations")}</p>`}
    ${told && told.threads.map((one, place) => html`<${ThreadCard} key=${one.id} one=${one} place=${place} />`)}`;
}

export const Conversations = ({ where }) => (where.rest ? html`<${Threads} session=${where.rest} />` : html`<${Sessions} />`);
