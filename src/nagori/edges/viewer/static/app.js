// The frame: the token, the language, the theme, and which page is shown.
import { render } from "./vendor/preact-htm.js";
import { Connections } from "./connections.js";
import { Conversations } from "./conversations.js";
import { Health } from "./health.js";
import { Knowledge } from "./knowledge.js";
import { Life } from "./life.js";
import { MemoryPage } from "./memory.js";
import { Profile } from "./profile.js";
import { Search } from "./search.js";
import { Timeline } from "./timeline.js";
import {
  address, ask, html, keepToken, language, languages, loadWords, place, say, token, useEffect, useRef, useState,
} from "./shared.js";

const PAGES = {
  timeline: Timeline, search: Search, memory: MemoryPage, conversations: Conversations, connections: Connections,
  profile: Profile, knowledge: Knowledge, life: Life, health: Health,
};
const TABS = ["timeline", "search", "conversations", "connections", "profile", "knowledge", "life", "health"];
const MACHINE_TABS = ["knowledge", "health"]; // absent where a server has many users
const THEMES = ["auto", "light", "dark"];

function takeFragment() {
  const given = new URLSearchParams(location.hash.slice(1));
  if (given.get("token")) {
    keepToken(given.get("token"));
    if (given.get("lang")) localStorage.setItem("nagori-language", given.get("lang"));
    history.replaceState(null, "", `${location.pathname}#/timeline`); // the token stays in no history
  }
}

const applyTheme = (theme) => { document.documentElement.dataset.theme = theme; };

function Choice({ label, value, options, onChange }) {
  return html`<label class="choice"><span class="hidden">${label}</span>
    <select value=${value} onChange=${(event) => onChange(event.target.value)}>
      ${options.map(([name, text]) => html`<option value=${name} selected=${name === value}>${text}</option>`)}
    </select></label>`;
}

function SignIn({ again }) {
  const [given, setGiven] = useState("");
  const submit = (event) => {
    event.preventDefault();
    keepToken(given.trim());
    again();
  };
  return html`<main class="sign-in"><h1>${say("view.title")}</h1>
    <p>${say("view.needs_token")}</p>
    <form onSubmit=${submit}>
      <label>${say("view.token")}<input type="password" autocomplete="off" value=${given}
        onInput=${(event) => setGiven(event.target.value)} /></label>
      <button class="main">${say("view.enter")}</button>
    </form></main>`;
}

function App() {
  const [where, setWhere] = useState(place());
  const [frame, setFrame] = useState(null);
  const [fault, setFault] = useState(null);
  const [, redraw] = useState(0);
  const [theme, setTheme] = useState(localStorage.getItem("nagori-theme") || "auto");
  const main = useRef(null);
  const enter = () => ask("frame").then((told) => { setFrame(told); setFault(null); }).catch(setFault);

  useEffect(() => {
    const moved = () => {
      if (new URLSearchParams(location.hash.slice(1)).get("token")) {
        takeFragment();
        enter();
      }
      setWhere(place());
      scrollTo(0, 0);
      if (main.current) main.current.focus({ preventScroll: true });
    };
    addEventListener("hashchange", moved);
    return () => removeEventListener("hashchange", moved);
  }, []);
  useEffect(() => { enter(); }, []);
  useEffect(() => { document.title = `${say(`view.page_${where.page in PAGES ? where.page : "timeline"}`)} · nagori`; });

  const chooseLanguage = async (wanted) => {
    localStorage.setItem("nagori-language", wanted);
    await loadWords(wanted);
    redraw((n) => n + 1);
  };
  const chooseTheme = (wanted) => {
    localStorage.setItem("nagori-theme", wanted);
    applyTheme(wanted);
    setTheme(wanted);
  };

  if (fault && fault.status === 401) return html`<${SignIn} again=${enter} />`;
  const Page = PAGES[where.page] || Timeline;
  return html`
    <a class="skip" href="#main" onClick=${(event) => { event.preventDefault(); main.current.focus(); }}>${say("view.skip")}</a>
    <header>
      <a class="name" href=${address("timeline")}><span class="kanji" lang="ja">名残</span><span>nagori</span></a>
      <nav aria-label=${say("view.pages")}>
        ${TABS.filter((tab) => !MACHINE_TABS.includes(tab) || !frame || frame.pages.includes(tab)).map((tab) => html`<a href=${address(tab)} aria-current=${tab === where.page ? "page" : undefined}>${say(`view.page_${tab}`)}</a>`)}
      </nav>
      <div class="choices">
        <${Choice} label=${say("view.language")} value=${language} options=${Object.entries(languages)} onChange=${chooseLanguage} />
        <${Choice} label=${say("view.theme")} value=${theme} options=${THEMES.map((name) => [name, say(`view.theme_${name}`)])} onChange=${chooseTheme} />
      </div>
    </header>
    <main id="main" tabindex="-1" ref=${main} class=${`page-${where.page}`} data-place=${`${where.page}/${where.rest}?${where.fields}`}>
      ${fault && html`<p class="fault" role="alert">${fault.message}</p>`}
      ${frame && html`<${Page} key=${`${language} ${where.page} ${where.rest}`} where=${where} frame=${frame} />`}
    </main>
    <div id="announcement" role="status" aria-live="polite"></div>`;
}

takeFragment();
applyTheme(localStorage.getItem("nagori-theme") || "auto");
await loadWords(localStorage.getItem("nagori-language"));
render(html`<${App} />`, document.getElementById("app"));
