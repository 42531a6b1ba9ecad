// One memory: its words at every level, its strength, its history, and everything that can be done with it.
import { DecayChart } from "./charts.js";
import {
  Dialog, Fault, Field, LevelMark, Marks, Row, Strength, Waiting, Words, address, announce, ask, change, dayName, html, number, say, useAnswer, useRef, useState, visible,
} from "./shared.js";

const LONG = 4000; // characters that are shown before somebody asks for all of them

function LongWords({ text, tag = "p" }) {
  const [all, setAll] = useState(false);
  if (text.length <= LONG) return html`<${Words} tag=${tag} text=${text} />`;
  return html`<${Words} tag=${tag} text=${all ? text : `${text.slice(0, LONG)}…`} class="words long" tabindex="0" />
    <button onClick=${() => setAll(!all)}>${all ? say("view.less") : say("view.show_all", { n: text.length })}</button>`;
}

const LevelWords = ({ one, current }) => html`<section class="version level${one.level} ${one.level === current ? "current" : ""}" aria-label=${say(`level.name${one.level}`)}>
  <h3><${LevelMark} level=${one.level} />
    ${one.level === current && html`<span class="tag now">${say("view.now")}</span>`}
    ${one.state === "planned" && html`<span class="tag planned">${say("view.planned")}</span>`}</h3>
  ${one.state === "gone" ? html`<p class="hint">${say("view.gone")}</p>` : html`
    ${one.trigger && html`<${LongWords} text=${one.trigger} tag="blockquote" />`}
    <${LongWords} text=${one.content} />`}
</section>`;

// --- dialogues -----------------------------------------------------------------------------------

/** A form in a dialogue: what it does may fail, and then says so inside. */
function FormDialog({ title, button, danger, disabled, onClose, act, children }) {
  const [fault, setFault] = useState(null);
  const [busy, setBusy] = useState(false);
  const submit = async (event) => {
    event.preventDefault();
    setBusy(true);
    setFault(null);
    try {
      await act(Object.fromEntries(new FormData(event.target)));
    } catch (problem) {
      setFault(problem);
    } finally {
      setBusy(false);
    }
  };
  return html`<${Dialog} title=${title} onClose=${onClose}>
    <form onSubmit=${submit}>${children}
      <${Fault} fault=${fault} />
      <p class="buttons"><button type="button" onClick=${onClose}>${say("view.cancel")}</button>
      <button class=${danger ? "danger" : "main"} disabled=${busy || disabled}>${button}</button></p>
    </form><//>`;
}

function Correct({ told, done, close }) {
  const act = async ({ content, trigger }) => {
    const changed = { id: told.id, version: told.version };
    if (content !== told.content) changed.content = content;
    if (trigger !== undefined && trigger !== told.trigger) changed.trigger = trigger;
    await change("edit", changed);
    done(say("view.corrected"));
  };
  return html`<${FormDialog} title=${say("view.correct")} button=${say("view.save")} onClose=${close} act=${act}>
    <p class="hint">${say("view.correct_hint")}</p>
    ${told.trigger && html`<label class="wide">${say("view.trigger")}<${Field} tag="textarea" name="trigger" rows="3" dir="auto" initial=${told.trigger} /></label>`}
    <label class="wide">${say("view.content")}<${Field} tag="textarea" name="content" rows="8" dir="auto" initial=${told.content} /></label>
  <//>`;
}

const CATEGORIES = ["casual", "work", "decision", "emotional"];
const PRIVACIES = ["public", "agent-only", "private"];

function Details({ told, frame, done, close }) {
  const act = async ({ kind, category, privacy, project }) => {
    const changed = { id: told.id, version: told.version };
    if (kind !== told.kind) changed.kind = kind;
    if (category && category !== told.category) changed.category = category;
    if (privacy !== told.privacy) changed.privacy = privacy;
    if (project !== (told.project || "")) changed.project = project;
    await change("edit", changed);
    done(say("view.changed"));
  };
  const select = (name, label, values, now, text) => html`<label>${label}<select name=${name}>
    ${values.map((value) => html`<option value=${value} selected=${value === (now || "")}>${text(value)}</option>`)}</select></label>`;
  return html`<${FormDialog} title=${say("view.details")} button=${say("view.save")} onClose=${close} act=${act}>
    ${select("kind", say("view.kind"), frame.kinds, told.kind, (kind) => say(`kind.${kind}`))}
    ${select("category", say("view.category"), ["", ...CATEGORIES], told.category, (one) => (one ? say(`category.${one}`) : "–"))}
    ${select("privacy", say("view.who"), PRIVACIES, told.privacy, (one) => say(`view.privacy_${one.replace("-", "_")}`))}
    <label>${say("view.project")}<${Field} name="project" initial=${told.project || ""} placeholder=${say("view.everywhere")} /></label>
  <//>`;
}

/** The limit of protected memories is reached: choose one that may fade again. */
function Release({ told, limit, candidates, done, close }) {
  const [chosen, setChosen] = useState("");
  const act = async () => {
    await change("protect", { id: told.id, release: [chosen] });
    done(say("view.now_protected"));
  };
  return html`<${FormDialog} title=${say("view.limit_title")} button=${say("view.release_and_protect")} disabled=${!chosen} onClose=${close} act=${act}>
    <p>${say("view.limit_text", { limit })}</p>
    <fieldset class="release"><legend>${say("view.limit_choose")}</legend>
      ${candidates.map((row) => html`<label class="check"><input type="radio" name="release" value=${row.id} onChange=${() => setChosen(row.id)} />
        <span><time>${row.day}</time> <${Words} text=${row.text} /></span></label>`)}
    </fieldset><//>`;
}

function Erase({ told, close, erased }) {
  const [plan, fault] = useAnswer(() => change("erasure", { id: told.id }), [told.id]);
  const [typed, setTyped] = useState("");
  const act = async () => erased(await change("erase", { id: told.id, token: typed }));
  return html`<${FormDialog} title=${say("view.erase_title")} button=${say("view.erase_now")} danger onClose=${close} act=${act}
    disabled=${!plan || typed.trim().toLowerCase() !== plan.token}>
    <p>${say("view.erase_text")}</p>
    <${Fault} fault=${fault} />
    ${!plan && !fault && html`<${Waiting} />`}
    ${plan && html`<ul>${plan.parts.map((each) => html`<li>${each.part}: ${number(each.n)}</li>`)}</ul>
      <label class="wide">${say("view.erase_type", { token: plan.token })}
        <input name="typed" autocomplete="off" spellcheck="false" value=${typed} onInput=${(event) => setTyped(event.target.value)} /></label>`}
  <//>`;
}

function Receipt({ done }) {
  const save = () => {
    const text = JSON.stringify(done.receipt, null, 1);
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
    link.download = "nagori-receipt.json";
    link.click();
    URL.revokeObjectURL(link.href);
  };
  return html`<section class="receipt" role="status"><h1>${say(done.clean ? "view.erased" : "view.erased_not_clean")}</h1>
    <p>${say("view.receipt_text")}</p>
    <ul>${done.words.map((each) => html`<li>${each}</li>`)}</ul>
    <p class="signature">${done.receipt.signature}</p>
    <p class="buttons"><button class="main" onClick=${save}>${say("view.receipt_save")}</button>
    <a class="button" href=${address("timeline")}>${say("view.back")}</a></p></section>`;
}

function Undo({ told, step, done, close }) {
  const act = async () => {
    const answer = await change("undo", { id: told.id, seq: step.seq, steps: step.undo });
    done(say("view.undone", { what: answer.undone.join(", ") }));
  };
  return html`<${FormDialog} title=${say("view.undo")} button=${say("view.undo")} onClose=${close} act=${act}>
    <p>${say("view.undo_many", { n: step.undo })}</p><p class="hint">${step.words}</p><//>`;
}

function Sure({ title, text, button, danger, done, close, act }) {
  return html`<${FormDialog} title=${title} button=${button} danger=${danger} onClose=${close} act=${async () => done(await act())}><p>${text}</p><//>`;
}

// --- parts ---------------------------------------------------------------------------------------

function History({ told, undo }) {
  return html`<section aria-labelledby="history"><h2 id="history">${say("view.history")}</h2>
    <ol class="history">${told.history.map((step) => html`<li key=${step.seq} class=${step.undone ? "undone" : ""}>
      <span dir="auto">${visible(step.words)}</span>
      ${step.undone && html`<span class="tag">${say("view.was_undone")}</span>`}
      ${step.undo > 0 && html`<button onClick=${() => undo(step)}>${step.undo === 1 ? say("view.undo") : say("view.undo_to", { n: step.undo })}</button>`}
    </li>`)}</ol></section>`;
}

function Links({ told }) {
  if (!told.links.length) return null;
  return html`<section aria-labelledby="links"><h2 id="links">${say("view.links")}</h2>
    <ul class="candidates">${told.links.map((link) => html`<li><${Row} row=${link.row}><p class="outcome">
      ${say(`view.link_${link.type}${link.outward ? "" : "_in"}`)}</p><//></li>`)}</ul></section>`;
}

function Sources({ told }) {
  const facts = [["view.session", told.session], ["view.speaker", told.speaker], ["view.uri", told.uri]].filter(([, value]) => value);
  return html`<section aria-labelledby="sources"><h2 id="sources">${say("view.sources")}</h2>
    <p>${say(`view.trust_${told.trust}`)}</p>
    ${facts.length > 0 && html`<dl>${facts.map(([id, value]) => html`<dt>${say(id)}</dt><dd>${id === "view.session" ? html`<a href=${address("conversations", value)}><${Words} text=${value} /></a>` : html`<${Words} text=${value} />`}</dd>`)}</dl>`}
    ${told.sources.map((turn) => html`<figure class="turn"><figcaption>${turn.at} · <bdi>${visible(turn.speaker || say(`view.trust_${turn.role}`))}</bdi>${turn.host && html` · <bdi>${turn.host}</bdi>`}</figcaption>
      <${LongWords} text=${turn.text} tag="blockquote" /></figure>`)}
  </section>`;
}

function Sight({ told }) {
  const values = { agent: told.agent || "–", role: told.role || "–", project: told.project || "" };
  return html`<section aria-labelledby="sight"><h2 id="sight">${say("view.who")}</h2>
    <p dir="auto">${visible(say(`view.sees_${told.privacy.replace("-", "_")}`, values))}
    ${visible(told.project ? ` ${say("view.sees_project", values)}` : ` ${say("view.sees_everywhere")}`)}</p></section>`;
}

// --- the page ------------------------------------------------------------------------------------

export function MemoryPage({ where, frame }) {
  const id = where.rest;
  const prompt = where.fields.get("prompt");
  const [told, fault, again] = useAnswer((signal) => ask("memory", { id }, { signal }), [id]);
  const [open, setOpen] = useState(null);
  const [problem, setProblem] = useState(null);
  const [receipt, setReceipt] = useState(null);
  const close = () => setOpen(null);
  const done = (words) => { close(); setProblem(null); announce(words); again(); };
  const act = async (name, words, fields = {}) => {
    setProblem(null);
    try {
      await change(name, { id: told.id, ...fields });
      done(words);
    } catch (trouble) {
      setProblem(trouble);
    }
  };
  const protect = async () => {
    setProblem(null);
    try {
      const answer = await change("protect", { id: told.id });
      if (answer.candidates) setOpen({ name: "release", ...answer });
      else done(say("view.now_protected"));
    } catch (trouble) {
      setProblem(trouble);
    }
  };
  const undo = (step) => (step.undo === 1
    ? change("undo", { id: told.id, seq: step.seq, steps: 1 }).then((answer) => done(say("view.undone", { what: answer.undone.join(", ") }))).catch(setProblem)
    : setOpen({ name: "undo", step }));

  if (receipt) return html`<${Receipt} done=${receipt} />`;
  if (fault) return html`<h1>${say("view.page_memory")}</h1><${Fault} fault=${fault} /><p><a href=${address("timeline")}>${say("view.back")}</a></p>`;
  if (!told) return html`<${Waiting} />`;
  const archived = told.level === 4;
  const shown = archived ? 3 : told.level;
  return html`
    ${prompt && html`<p><a href=${address("search", "", { prompt })}>${say("view.back_to_search")}</a></p>`}
    <h1 class="title"><${Words} text=${told.text} /></h1>
    <p class="about"><${LevelMark} level=${told.level} /><${Strength} value=${told.strength} />
      <span class="kind">${say(`kind.${told.kind}`)}</span> <time datetime=${told.day}>${dayName(told.day)} ${told.time}</time> <${Marks} row=${told} /></p>
    <div class="actions" role="group" aria-label=${say("view.actions")}>
      <button class="main" onClick=${() => setOpen({ name: "correct" })}>${say("view.correct")}</button>
      <button onClick=${() => setOpen({ name: "details" })}>${say("view.details")}</button>
      ${told.protected
        ? html`<button onClick=${() => act("unprotect", say("view.now_unprotected"))}>${say("view.unprotect")}</button>`
        : html`<button onClick=${protect}>${say("view.protect")}</button>`}
      ${archived
        ? html`<button onClick=${() => act("unarchive", say("view.now_unarchived"))}>${say("view.unarchive")}</button>`
        : html`<button onClick=${() => act("archive", say("view.now_archived"))}>${say("view.archive")}</button>`}
      <a class="button" href=${address("connections", told.id)}>${say("view.page_connections")}</a>
      <button onClick=${() => act("feedback", say("view.thanks"), { good: true })}>${say("view.useful")}</button>
      <button onClick=${() => act("feedback", say("view.thanks"), { good: false })}>${say("view.not_useful")}</button>
      ${!told.forgotten && html`<button onClick=${() => setOpen({ name: "forget" })}>${say("view.forget")}</button>`}
      ${frame.whole && html`<button class="danger" onClick=${() => setOpen({ name: "erase" })}>${say("view.erase")}</button>`}
    </div>
    <${Fault} fault=${problem} />
    ${told.superseded && html`<p class="notice">${say("view.superseded_by")} <a href=${address("memory", told.superseded)}>${told.superseded}</a></p>`}
    <section aria-labelledby="versions"><h2 id="versions">${say("view.versions")}</h2>
      <div class="versions">${told.levels.map((one) => html`<${LevelWords} key=${one.level} one=${one} current=${shown} />`)}</div></section>
    <section aria-labelledby="strength"><h2 id="strength">${say("view.fading")}</h2>
      ${told.curve && html`<${DecayChart} curve=${told.curve} />`}
      <ul class="facts">${told.facts.map((fact) => html`<li>${fact}</li>`)}
        ${told.forecast.map((each) => html`<li>${say(`level.fades${each.level}`)}: <time>${dayName(each.day)}</time></li>`)}</ul></section>
    <${History} told=${told} undo=${undo} />
    <${Links} told=${told} />
    <${Sources} told=${told} />
    <${Sight} told=${told} />
    ${Object.keys(told.metadata).length > 0 && html`<section><h2>${say("view.metadata")}</h2><dl>
      ${Object.entries(told.metadata).map(([key, value]) => html`<dt dir="auto">${visible(key)}</dt><dd><${Words} text=${value} /></dd>`)}</dl></section>`}
    <p class="id">${told.id}</p>
    ${open?.name === "correct" && html`<${Correct} told=${told} done=${done} close=${close} />`}
    ${open?.name === "details" && html`<${Details} told=${told} frame=${frame} done=${done} close=${close} />`}
    ${open?.name === "release" && html`<${Release} told=${told} limit=${open.limit} candidates=${open.candidates} done=${done} close=${close} />`}
    ${open?.name === "undo" && html`<${Undo} told=${told} step=${open.step} done=${done} close=${close} />`}
    ${open?.name === "forget" && html`<${Sure} title=${say("view.forget")} text=${say("view.forget_text")} button=${say("view.forget")} danger done=${done} close=${close}
      act=${async () => { await change("forget", { id: told.id }); return say("view.now_forgotten"); }} />`}
    ${open?.name === "erase" && html`<${Erase} told=${told} close=${close} erased=${(answer) => { close(); setReceipt(answer); }} />`}`;
}
