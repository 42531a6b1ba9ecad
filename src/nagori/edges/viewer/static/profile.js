// The profile: what the memories say about the user, derived anew whenever it is read.
import { Card, Fault, Waiting, address, dayName, html, number, say, useLongAnswer, visible } from "./shared.js";

const Topics = ({ topics }) => {
  const most = Math.max(1, ...topics.map((each) => each.memories));
  return html`<ul class="bars">${topics.map((each) => html`<li>
    <a href=${address("connections", "", { text: each.name })}><bdi class="words">${visible(each.name)}</bdi></a>
    <span class="bar long" aria-hidden="true"><span style=${{ width: `${(100 * each.memories) / most}%` }}></span></span>
    <span>${say("view.memories", { n: each.memories })}</span></li>`)}</ul>`;
};

const People = ({ speakers }) => html`<div class="scroll" tabindex="0"><table>
  <thead><tr><th scope="col">${say("view.speaker")}</th><th scope="col">${say("view.spoke")}</th><th scope="col">${say("view.mentioned")}</th></tr></thead>
  <tbody>${speakers.map((each) => html`<tr><th scope="row"><bdi class="words">${visible(each.name)}</bdi></th><td>${number(each.spoke)}</td><td>${number(each.mentions)}</td></tr>`)}</tbody>
</table></div>`;

export function Profile() {
  const [told, fault] = useLongAnswer("profile", {}, []);
  const ready = told && told.topics;
  return html`<h1>${say("view.page_profile")}</h1>
    <p class="hint">${say("view.profile_hint")}</p>
    <${Fault} fault=${fault} />
    ${!ready && !fault && html`<${Waiting} share=${told ? told.share : undefined} />`}
    ${ready && !told.since && html`<p class="empty">${say("view.no_profile")}</p>`}
    ${ready && told.since && html`<div class="cards">
      <${Card} id="known" title=${say("view.known")}>
        <p class="big"><meter min="0" max="100" value=${told.depth} aria-label=${say("view.depth")}></meter> ${say("view.depth_of", { n: told.depth })}</p>
        <p>${say("view.known_since", { day: dayName(told.since), days: told.days })}</p>
        <p>${say("view.known_from", { sessions: told.sessions, personal: told.personal, n: told.memories })}</p><//>
      ${told.topics.length > 0 && html`<${Card} id="topics" title=${say("view.topics")}><${Topics} topics=${told.topics} /><//>`}
      ${told.speakers.length > 0 && html`<${Card} id="people" title=${say("view.people")}><${People} speakers=${told.speakers} /><//>`}
    </div>`}`;
}
