"""Settings of parts that have no formula module of their own: language, embedding, models, hooks, server."""

from __future__ import annotations

from nagori.core.value_object import Value, setting


class General(Value):
    """Language and storage location."""

    language: str = setting(
        "auto", "Language of messages; `auto` follows the locale.", choices=("auto", "ja", "en")
    )
    data_dir: str = setting(
        "", "Folder for memories: an absolute path or `~/…`; empty for the platform's default."
    )
    database: str = setting(
        "",
        "PostgreSQL database for the journal, `postgresql://user@host/database`, without a password; empty"
        " for files.",
    )


class Embedding(Value):
    """Embedding of texts. The default needs neither key nor network.

    Model, dimensions and prefixes determine the vectors: after changing them, `nagori reembed` switches over.
    """

    provider: str = setting(
        "local",
        "Source of embedding vectors.",
        choices=("local", "none", "openai", "fastembed", "sentence-transformers"),
    )
    model: str = setting("", "Embedding model; empty for the provider's default.")
    dimensions: int = setting(0, "Vector dimensions; 0 for the model's default.", lo=0, hi=65536)
    base_url: str = setting("https://api.openai.com/v1", "Address of an OpenAI-compatible server.")
    key_env: str = setting(
        "OPENAI_API_KEY", "Environment variable, or keyring entry, that holds the API key."
    )
    query_prefix: str = setting("", 'Text put before queries, for models that need it, e.g. "query: ".')
    passage_prefix: str = setting("", 'Text put before memories, e.g. "passage: ".')
    daily_cap_usd: float = setting(1.0, "Maximum daily spend on embeddings, in US dollars.", lo=0.0, hi=10**6)

    @property
    def chosen(self) -> str:
        """The name of the model in use."""
        return self.model or EMBEDDERS.get(self.provider, "")


EMBEDDERS = {
    "local": "multilingual-e5-small",
    "openai": "text-embedding-3-small",
    "fastembed": "sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2",
    "sentence-transformers": "intfloat/multilingual-e5-small",
}


class Llm(Value):
    """Language model; off by default."""

    provider: str = setting(
        "none",
        "Language model provider; `none` uses rules alone.",
        choices=("none", "anthropic", "openai", "claude-cli"),
    )
    model: str = setting("claude-haiku-5-5", "Model name.")
    base_url: str = setting("", "Server address; empty for the provider's default.")
    key_env: str = setting(
        "", "Environment variable that holds the API key; empty for the provider's default."
    )
    command: str = setting("claude", "Program that `claude-cli` starts.")
    temperature: float = setting(0.0, "Sampling temperature; 0 is the most repeatable.", lo=0.0, hi=2.0)
    max_tokens: int = setting(1024, "Maximum tokens of an answer about one memory.", lo=1, hi=10**6)
    timeout_seconds: float = setting(
        60.0, "Maximum seconds per request, retries included.", lo=0.1, hi=3600.0
    )
    max_attempts: int = setting(3, "Maximum attempts per request.", lo=1, hi=10)
    memories_per_request: int = setting(20, "Maximum number of memories per request.", lo=1, hi=100)
    appraise: bool = setting(True, "Let the model appraise emotion, kind and relations of new memories.")
    appraise_days: float = setting(
        7.0, "Maximum age in days of memories that the model appraises.", lo=0.0, hi=36500.0
    )
    compress: bool = setting(True, "Let the model write summaries and traces.")
    fallback_after_cycles: int = setting(
        3, "Number of cycles without an answer after which rules write summaries and traces.", lo=0, hi=1000
    )
    use_batch_api: bool = setting(
        False, "Use the provider's batch API: half the price, answers within a day."
    )
    expand_queries: bool = setting(
        False, "Ask the model for other words of a question during recall; adds about a second."
    )
    daily_cap_usd: float = setting(
        1.0, "Maximum daily spend on the language model, in US dollars.", lo=0.0, hi=10**6
    )
    price_in: float = setting(
        -1.0,
        "US dollars per million input tokens; below 0 uses the price table of `nagori cost`.",
        lo=-1.0,
        hi=10**6,
    )
    price_out: float = setting(
        -1.0, "US dollars per million output tokens; below 0 uses the price table.", lo=-1.0, hi=10**6
    )


class PrivacySettings(Value):
    """What is removed before anything is stored [ruling 27]."""

    strip_private: bool = setting(True, "Remove `<private>…</private>` passages.")
    redact_secrets: bool = setting(True, "Remove keys, tokens and passwords.")


class Sessions(Value):
    """Sessions: what is kept of their words, and copies for other programs. No copy is needed to answer."""

    policy: str = setting(
        "full",
        "What stays when a thread has ended: `full`, or `summaries` (its turns and episodes are erased).",
        choices=("full", "summaries"),
    )
    log_dir: str = setting(
        "",
        "Folder for logs of all turns as Parquet: an absolute path, `~/…` or `s3://bucket/…`; empty: none.",
    )
    log_days: float = setting(
        0.0,
        "Days that a turn stays in these logs; 0: always. The memory itself keeps it.",
        lo=0.0,
        hi=36500.0,
    )
    cache: str = setting(
        "", "Redis or Valkey for summaries of the last day, `rediss://user@host:6379/0`, without a password."
    )
    password_env: str = setting(
        "VALKEY_PASSWORD", "Environment variable, or keyring entry, that holds its password."
    )


class GraphSettings(Value):
    """Graph: a copy of memories, concepts and relations for programs that read graphs. No answer needs it."""

    mirror: str = setting(
        "",
        "Graph server that speaks Bolt, `bolt+s://user@host:7687/database`, without a password; empty: none.",
    )
    password_env: str = setting(
        "NEO4J_PASSWORD", "Environment variable, or keyring entry, that holds its password."
    )


class Backups(Value):
    """Backups that the nightly run writes."""

    folder: str = setting("", "Folder for nightly backups, or `s3://bucket/…`; empty: none are written.")
    every_days: float = setting(1.0, "Days between two backups.", lo=0.01, hi=3650.0)
    keep: int = setting(7, "Number of backups that are kept; older ones are deleted.", lo=1, hi=10000)


class Hooks(Value):
    """Hooks: what a host program may ask for."""

    enabled: bool = setting(True, "Accept calls from hosts. Programs that nagori starts itself turn it off.")
    worker: bool = setting(True, "Start a background worker when there is work.")
    user: str = setting("me", "User whose memory gets a host's conversations.")
    agent: str = setting("", "Agent that a host runs; it sees its own private memories and no other agent's.")
    role: str = setting("", "Role of that agent; it sees memories shared within the role.")
    server: str = setting(
        "", "Address of a nagori server that keeps the memory of hosts; empty for files of this machine."
    )
    server_key_env: str = setting(
        "NAGORI_KEY", "Environment variable, or keyring entry, that holds the API key of that server."
    )
    max_memories: int = setting(8, "Maximum number of memories per prompt.", lo=0, hi=100)
    min_confidence: float = setting(
        0.5, "Minimum confidence that a prompt needs memories at all.", lo=0.0, hi=1.0
    )
    session_start_memories: int = setting(
        3, "Maximum number of protected memories at session start.", lo=0, hi=50
    )
    recap_hours: float = setting(
        24.0, "Hours after which the previous session is not recapped at session start.", lo=0.0, hi=87600.0
    )
    session_start_tokens: int = setting(400, "Maximum number of tokens at session start.", lo=0, hi=10**5)
    profile_topics: int = setting(
        0, "Maximum number of the user's favourite topics at session start; 0 tells none.", lo=0, hi=50
    )
    before_tool: bool = setting(
        False, "Also call nagori before every tool; takes effect with the next `nagori init`."
    )


class ServerSettings(Value):
    """The HTTP server `nagori serve`: what callers may cost."""

    max_body_bytes: int = setting(4 * 1024 * 1024, "Maximum bytes of a request.", lo=1024, hi=10**9)
    timeout_seconds: float = setting(
        30.0, "Seconds after which a caller gets an error instead of an answer.", lo=0.05, hi=3600.0
    )
    requests_per_minute: int = setting(6000, "Maximum requests per minute of one key.", lo=1, hi=10**7)
    threads: int = setting(8, "Number of requests that are worked on at once.", lo=1, hi=60)
