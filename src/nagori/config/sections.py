"""Sections whose room is not built yet. When it is, a section moves there, beside the formulas it steers."""

from __future__ import annotations

from nagori.core.values import Value, setting


class General(Value):
    """Language and place."""

    language: str = setting(
        "auto", "of words for people; auto: from the locale", choices=("auto", "ja", "en")
    )
    data_dir: str = setting("", "folder of memories, absolute or ~/…; empty: the platform's own place")


class Embedding(Value):
    """001 `embedding`, with a default that needs neither key nor network [ruling 37].

    What makes other vectors (model, length, prefixes) makes another model of it: `nagori reembed` switches.
    """

    provider: str = setting(
        "local",
        "who makes vectors",
        choices=("local", "none", "openai", "fastembed", "sentence-transformers"),
    )
    model: str = setting("", "name of the model; empty: the provider's own")
    dimensions: int = setting(0, "length of its vectors; 0: the model's own", lo=0, hi=65536)
    base_url: str = setting("https://api.openai.com/v1", "of a server that speaks like OpenAI's")
    key_env: str = setting("OPENAI_API_KEY", "the variable, or entry of the keyring, that holds its key")
    query_prefix: str = setting("", 'put before questions, for models that want it, e.g. "query: "')
    passage_prefix: str = setting("", 'put before memories, e.g. "passage: "')
    daily_cap_usd: float = setting(1.0, "spend no more on vectors in a day", lo=0.0, hi=10**6)

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

    provider: str = setting(
        "none",
        "who helps the rules; none: nobody",
        choices=("none", "anthropic", "openai", "claude-cli"),
    )
    model: str = setting("claude-haiku-5-5", "name of the model")
    base_url: str = setting("", "address of the server; empty: the provider's own")
    key_env: str = setting("", "variable that holds the key; empty: the provider's usual one")
    command: str = setting("claude", "program that `claude-cli` starts")
    temperature: float = setting(0.0, "0: as repeatable as it gets", lo=0.0, hi=2.0)
    max_tokens: int = setting(1024, "longest answer about one memory, in tokens", lo=1, hi=10**6)
    timeout_seconds: float = setting(60.0, "longest wait for one answer, tries included", lo=0.1, hi=3600.0)
    max_attempts: int = setting(3, "so often an overloaded server is asked", lo=1, hi=10)
    memories_per_request: int = setting(20, "at most so many memories in one question", lo=1, hi=100)
    appraise: bool = setting(True, "judge feelings, kinds and ties of what was said")
    appraise_days: float = setting(
        7.0, "nothing older is judged, so that switching on costs little", lo=0.0, hi=36500.0
    )
    compress: bool = setting(True, "write the shorter words of what fades")
    fallback_after_cycles: int = setting(
        3, "after so many nights without an answer the rules shorten", lo=0, hi=1000
    )
    use_batch_api: bool = setting(
        False, "hand questions over in the provider's batches: half the price, answers within a day"
    )
    expand_queries: bool = setting(False, "look for a question's other words when recalling; costs a second")
    daily_cap_usd: float = setting(
        1.0, "spend no more in a day; about 001's own yearly estimate", lo=0.0, hi=10**6
    )
    price_in: float = setting(
        -1.0, "dollars a million tokens read; below 0: as in `nagori cost`", lo=-1.0, hi=10**6
    )
    price_out: float = setting(-1.0, "dollars a million tokens written", lo=-1.0, hi=10**6)


class WorkingMemory(Value):
    """002 §3.1: working memory [T1]."""

    turns: int = setting(12, "turns of a thread kept at hand", lo=1, hi=10_000)


class Threads(Value):
    """002 §3.2: where one thread ends and the next begins [T2]."""

    similarity: float = setting(0.75, "a turn less similar than this begins a thread", lo=-1.0, hi=1.0)
    idle_minutes: float = setting(10.0, "a pause as long as this ends one", lo=0.0, hi=10**6)


class Sessions(Value):
    """002 §4: the session tier [T4, ruling 33]."""

    hot_hours: float = setting(24.0, "archived from the cache after", lo=0.0, hi=8760.0)
    keep_hours: float = setting(48.0, "gone from the cache after", lo=0.0, hi=8760.0)
    days: float = setting(30.0, "gone from the session archive after", lo=0.0, hi=36500.0)


class PrivacySettings(Value):
    """What is removed before anything is stored [ruling 27]."""

    strip_private: bool = setting(True, "drop <private>…</private>")
    redact_secrets: bool = setting(True, "drop keys, tokens and passwords")


class Hooks(Value):
    """What a program that calls us may ask for."""

    enabled: bool = setting(True, "listen to hosts at all; programs that nagori starts itself turn it off")
    worker: bool = setting(True, "start a worker in the background when there is work for it")
    user: str = setting("me", "whose memory a host's conversations go to")
    agent: str = setting("", "the agent a host runs: it sees its own private memories and no other agent's")
    role: str = setting("", "the role of that agent: it sees what agents of its role share")
    max_memories: int = setting(6, "at most so many memories for a prompt", lo=0, hi=100)
    min_confidence: float = setting(0.25, "least certainty of what is told unasked", lo=0.0, hi=1.0)
    session_start_memories: int = setting(
        10, "at most so many protected memories when a session starts", lo=0, hi=50
    )
    session_start_tokens: int = setting(600, "at most so many tokens when a session starts", lo=0, hi=10**5)
    before_tool: bool = setting(False, "be called before every tool as well; `nagori init` writes it")
