// Knowledge bases: their documents, and the passages that answer a query.
import { Card, Fault, Field, Waiting, Words, address, ask, html, number, percent, say, useAnswer, visible } from "./shared.js";

const Passage = ({ one }) => html`<li class="passage">
  <p class="source"><bdi class="words">${visible(one.source)}</bdi> <span class="sure">${say("view.confidence", { n: percent(one.confidence) })}</span></p>
  <${Words} tag="p" text=${one.text} /></li>`;

const Documents = ({ told, base }) => html`<div class="scroll" tabindex="0"><table>
  <thead><tr>${["view.document", "view.version", "view.passages", "view.when"].map((id) => html`<th scope="col">${say(id)}</th>`)}</tr></thead>
  <tbody>${told.documents.filter((each) => each.base === base).map((each) => html`<tr><th scope="row"><bdi class="words">${visible(each.name)}</bdi></th>
    <td>${number(each.version)}</td><td>${number(each.passages)}</td><td><time>${each.added}</time></td></tr>`)}</tbody></table></div>`;

export function Knowledge({ where }) {
  const query = where.fields.get("query") || "";
  const kb = where.fields.get("kb") || "";
  const [told, fault] = useAnswer((signal) => ask("knowledge", { query, kb }, { signal }), [query, kb]);
  const submit = (event) => {
    event.preventDefault();
    location.hash = address("knowledge", "", Object.fromEntries(new FormData(event.target)));
  };
  const busy = told ? told.query !== query : !fault;
  return html`<h1>${say("view.page_knowledge")}</h1>
    <p class="hint">${say("view.knowledge_hint")}</p>
    <${Fault} fault=${fault} />
    ${!told && !fault && html`<${Waiting} />`}
    ${told && told.count === 0 && html`<p class="empty">${say("view.no_knowledge")}</p>`}
    ${told && told.count > 0 && html`
      <form class="search" role="search" onSubmit=${submit}>
        <label class="grow">${say("view.query")}<${Field} key=${query} name="query" initial=${query} /></label>
        <label>${say("view.base")}<select name="kb"><option value="" selected=${!kb}>${say("view.all")}</option>
          ${told.bases.map((base) => html`<option value=${base} selected=${base === kb}>${base}</option>`)}</select></label>
        <button class="main">${say("view.find")}</button></form>
      <div aria-busy=${busy ? "true" : "false"}>${told.query && html`<${Card} id="passages" title=${say("view.answers", { n: told.passages.length })}>
        ${told.passages.length === 0 ? html`<p>${say("view.no_passage")}</p>` : html`<ol class="passages">${told.passages.map((one) => html`<${Passage} one=${one} />`)}</ol>`}<//>`}</div>
      ${told.bases.map((base, n) => html`<${Card} id=${`base-${n}`} title=${html`<bdi class="words">${base}</bdi>`}><${Documents} told=${told} base=${base} /><//>`)}`}`;
}
