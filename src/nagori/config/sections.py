"""Sections whose room is not built yet. When it is, a section moves there, beside the formulas it steers."""

from __future__ import annotations

from nagori.core.values import Value, knob


class General(Value):
    """Language and place."""

    language: str = knob("auto", "of words for people; auto: from the locale", choices=("auto", "ja", "en"))
    data_dir: str = knob("", "folder of memories, absolute or ~/…; empty: the platform's own place")


class Embedding(Value):
    """001 `embedding`, with a default that needs neither key nor network [ruling 37].

    What makes other vectors (model, length, prefixes) makes another model of it: `nagori reembed` switches.
    """

    provider: str = knob(
        "local",
        "who makes vectors",
        choices=("local", "none", "openai", "fastembed", "sentence-transformers"),
    )
    model: str = knob("", "name of the model; empty: the provider's own")
    dimensions: int = knob(0, "length of its vectors; 0: the model's own", lo=0, hi=65536)
    base_url: str = knob("https://api.openai.com/v1", "of a server that speaks like OpenAI's")
    key_env: str = knob("OPENAI_API_KEY", "the variable, or entry of the keyring, that holds its key")
    query_prefix: str = knob("", 'put before questions, for models that want it, e.g. "query: "')
    passage_prefix: str = knob("", 'put before memories, e.g. "passage: "')
    daily_cap_usd: float = knob(1.0, "spend no more on vectors in a day", lo=0.0, hi=10**6)

    @property
    def chosen(self) -> str:
        """The model by name."""
        return self.model or EMBEDDERS.get(self.provider, "")


EMBEDDERS = {
    "local": "multilingual-e5-small",
    "openai": "text-embedding-3-small",
    "fastembed": "sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2",
    "sentence-transformers": "intfloat/multilingual-e5-small",
}


class Llm(Value):
    """001 `llm`, off until asked for [rulings 37, 38]."""

    provider: str = knob(
        "none",
        "who helps the rules; none: nobody",
        choices=("none", "anthropic", "openai", "claude-cli"),
    )
    model: str = knob("claude-haiku-5-5", "name of the model")
    base_url: str = knob("", "address of the server; empty: the provider's own")
    key_env: str = knob("", "variable that holds the key; empty: the provider's usual one")
    command: str = knob("claude", "program that `claude-cli` starts")
    temperature: float = knob(0.0, "0: as repeatable as it gets", lo=0.0, hi=2.0)
    max_tokens: int = knob(1024, "longest answer about one memory, in tokens", lo=1, hi=10**6)
    timeout_seconds: float = knob(60.0, "longest wait for one answer, tries included", lo=0.1, hi=3600.0)
    tries: int = knob(3, "so often an overloaded server is asked", lo=1, hi=10)
    batch: int = knob(20, "at most so many memories in one question", lo=1, hi=100)
    judge: bool = knob(True, "judge feelings, kinds and ties of what was said")
    judge_days: float = knob(
        7.0, "nothing older is judged, so that switching on costs little", lo=0.0, hi=36500.0
    )
    shorten: bool = knob(True, "write the shorter words of what fades")
    patience: int = knob(3, "after so many nights without an answer the rules shorten", lo=0, hi=1000)
    later: bool = knob(
        False, "hand questions over in the provider's batches: half the price, answers within a day"
    )
    expand: bool = knob(False, "look for a question's other words when recalling; costs a second")
    daily_cap_usd: float = knob(
        1.0, "spend no more in a day; about 001's own yearly estimate", lo=0.0, hi=10**6
    )
    price_in: float = knob(
        -1.0, "dollars a million tokens read; below 0: as in `nagori cost`", lo=-1.0, hi=10**6
    )
    price_out: float = knob(-1.0, "dollars a million tokens written", lo=-1.0, hi=10**6)


class Working(Value):
    """002 §3.1: working memory [T1]."""

    turns: int = knob(12, "turns of a thread kept at hand", lo=1, hi=10_000)


class Threads(Value):
    """002 §3.2: where one thread ends and the next begins [T2]."""

    similarity: float = knob(0.75, "a turn less similar than this begins a thread", lo=-1.0, hi=1.0)
    idle_minutes: float = knob(10.0, "a pause as long as this ends one", lo=0.0, hi=10**6)


class Sessions(Value):
    """002 §4: the session tier [T4, ruling 33]."""

    hot_hours: float = knob(24.0, "archived from the cache after", lo=0.0, hi=8760.0)
    keep_hours: float = knob(48.0, "gone from the cache after", lo=0.0, hi=8760.0)
    days: float = knob(30.0, "gone from the session archive after", lo=0.0, hi=36500.0)


class Privacy(Value):
    """What is removed before anything is stored [ruling 27]."""

    strip_private: bool = knob(True, "drop <private>…</private>")
    redact_secrets: bool = knob(True, "drop keys, tokens and passwords")


class Hooks(Value):
    """What a program that calls us may ask for."""

    enabled: bool = knob(True, "listen to hosts at all; programs that nagori starts itself turn it off")
    worker: bool = knob(True, "start a worker in the background when there is work for it")
    user: str = knob("me", "whose memory a host's conversations go to")
    agent: str = knob("", "the agent a host runs: it sees its own private memories and no other agent's")
    role: str = knob("", "the role of that agent: it sees what agents of its role share")
    most: int = knob(6, "at most so many memories for a prompt", lo=0, hi=100)
    floor: float = knob(0.25, "least certainty of what is told unasked", lo=0.0, hi=1.0)
    brief: int = knob(10, "at most so many protected memories when a session starts", lo=0, hi=50)
    brief_tokens: int = knob(600, "at most so many tokens when a session starts", lo=0, hi=10**5)
    before_tool: bool = knob(False, "be called before every tool as well; `nagori init` writes it")
