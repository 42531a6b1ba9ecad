"""Knowledge: add documents to a knowledge base, search it with sources, remove them.

A document is replaced in one commit: its new passages come and its former ones go together, so a query sees
one version, never none and never both. Only documents whose bytes changed are read again. The words of a
former version leave the journal afterwards.
"""

from __future__ import annotations

from base64 import b32encode
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from hashlib import sha256

from nagori.core.events import TO_REDACT, Event
from nagori.core.knowledge_base import (
    PREFIX,
    Document,
    DocumentInfo,
    KnowledgePassage,
    is_knowledge,
    knowledge_scope,
)
from nagori.core.model import (
    Emotion,
    Filter,
    ItemFilter,
    Kind,
    Level,
    Memory,
    Recollection,
    Scope,
    Source,
    Text,
    Trust,
    item_id,
)
from nagori.core.serialize import to_record
from nagori.core.storage_types import Owner
from nagori.core.value_object import check_text, check_whole
from nagori.errors import Conflict, InvalidInput
from nagori.event_ledger import Decision
from nagori.language.passages import pieces
from nagori.runtime import Runtime
from nagori.services.key_value_items import ItemDelete, ItemPut, Items, read_value
from nagori.services.recall import RecallRequest, recall
from nagori.services.redact_journal_and_compact_store import compact_if_due, redact_purged
from nagori.services.remember import embed, redact_text

DOCUMENTS = ("knowledge",)  # namespace of the catalogue
PASSAGE = 600  # characters
MOST_PASSAGES = 1_000_000  # of one document
ATTEMPTS = 20  # searches while documents are being replaced
STEADY = Emotion(50.0)


# --- adding ---------------------------------------------------------------------------------------


def add_document(runtime: Runtime, tenant: str, base: str, document: Document) -> DocumentInfo | None:
    """Add a document, or replace it by its new version; None if this version is there already."""
    scope = knowledge_scope(tenant, base)
    check_text("document", document.name)
    runtime.ledger.catch_up(scope.owner, wait=True)
    if (known := _find_document(runtime, scope, document.name)) and known.digest == document.digest:
        return None
    passages = list(_split(runtime, document))
    if not passages:
        raise InvalidInput("document", "error.document_empty", name=document.name)
    drafts = [_memory(runtime, document, n, each) for n, each in enumerate(passages)]
    vectors = embed(runtime, scope, drafts)  # by text: what did not change is not computed again

    def decide() -> Decision:
        before = _find_document(runtime, scope, document.name)
        if before and before.digest == document.digest:  # somebody else was faster
            return Decision([], before)
        now = runtime.clock.now()
        version = before.version + 1 if before else 1
        info = DocumentInfo(base, document.name, version, document.digest, len(drafts), now)
        formed = [
            Event("formed", now, {"memory": to_record(each)}, each.id, by="knowledge") for each in drafts
        ]
        removal, catalogue = (
            _removal(runtime, scope, before, now),
            _catalogue(runtime, scope.owner, [_put(info)]),
        )
        return Decision([*removal, *formed, *catalogue], info)

    written = runtime.ledger.write(scope.owner, decide, vectors)
    _forget_words(runtime, scope.owner)
    info: DocumentInfo | None = written.result if written.events else None
    return info


def _split(runtime: Runtime, document: Document) -> Iterator[tuple[str, int | None, str]]:
    """(heading, page, text) of each passage, without secrets."""
    for section in document.sections:
        heading = redact_text(runtime, section.heading)
        for piece in pieces(redact_text(runtime, section.text), PASSAGE):
            if piece.strip():
                yield heading, section.page, piece.strip()


def _memory(runtime: Runtime, document: Document, place: int, passage: tuple[str, int | None, str]) -> Memory:
    heading, page, text = passage
    now = runtime.clock.now()
    # With the time: an id is never used again, because words of former versions are redacted by their id.
    named = (document.name, document.digest, now.isoformat(), place, heading, text)
    digest = sha256("\x1f".join(map(str, named)).encode("utf-8", "surrogatepass")).digest()
    return Memory(
        id="mem_" + b32encode(digest[:10]).decode().lower(),
        created=now,
        anchor=now,
        texts={Level.FULL: Text(heading, text)},
        kind=Kind.FACT,
        emotion=STEADY,
        coefficient=1.0,
        trust=Trust.IMPORT,
        source=Source(session=document.name, turn=place, uri=document.name),
        metadata={} if page is None else {"page": page},
    )


def _removal(runtime: Runtime, scope: Scope, before: DocumentInfo | None, now: datetime) -> Iterator[Event]:
    """The end of all passages of a former version."""
    if before is not None:
        filter = Filter(session=before.name, archived=True, forgotten=True)
        for memory in runtime.store.find(scope, filter, limit=MOST_PASSAGES):
            yield Event("deleted", now, {}, memory.id, by="knowledge")


def _forget_words(runtime: Runtime, owner: Owner) -> None:
    """Remove the words of former versions from the journal and from the store's free pages."""
    while runtime.store.state(owner, TO_REDACT) and redact_purged(runtime, owner):
        pass
    compact_if_due(runtime, owner)


# --- the catalogue --------------------------------------------------------------------------------


def list_documents(runtime: Runtime, tenant: str, base: str | None = None) -> list[DocumentInfo]:
    """The documents of a knowledge base, or of all of this tenant, by name."""
    bases = [base] if base is not None else find_bases(runtime, tenant)
    return [info for each in bases for info in _documents(runtime, knowledge_scope(tenant, each))]


def find_bases(runtime: Runtime, tenant: str) -> list[str]:
    """The names of all knowledge bases of a tenant that hold documents."""
    owners = [owner for owner in runtime.journal.owners() if owner[0] == tenant and is_knowledge(owner)]
    names = sorted(user.removeprefix(PREFIX) for _, user in owners)
    return [name for name in names if _documents(runtime, knowledge_scope(tenant, name))]


def _documents(runtime: Runtime, scope: Scope) -> list[DocumentInfo]:
    runtime.ledger.catch_up(scope.owner)
    found = runtime.store.items(scope.owner, ItemFilter(DOCUMENTS))
    return [_info(scope, item.key, read_value(item)) for item in found]


def _find_document(runtime: Runtime, scope: Scope, name: str) -> DocumentInfo | None:
    item = Items(runtime, scope.owner).get(DOCUMENTS, name)
    return None if item is None else _info(scope, name, read_value(item))


def _info(scope: Scope, name: str, value: Mapping[str, object]) -> DocumentInfo:
    return DocumentInfo(
        scope.user.removeprefix(PREFIX),
        name,
        int(str(value["version"])),
        str(value["digest"]),
        int(str(value["passages"])),
        datetime.fromisoformat(str(value["added"])),
    )


def _put(info: DocumentInfo) -> ItemPut:
    value = {
        "version": info.version,
        "digest": info.digest,
        "passages": info.passages,
        "added": info.added.isoformat(),
    }
    return ItemPut(DOCUMENTS, info.name, value)


def _catalogue(runtime: Runtime, owner: Owner, changes: Sequence[ItemPut | ItemDelete]) -> Sequence[Event]:
    return Items(runtime, owner).events(changes)


def remove_document(runtime: Runtime, tenant: str, base: str, name: str) -> DocumentInfo:
    """Remove a document with all its passages; InvalidInput if there is none of this name."""
    scope = knowledge_scope(tenant, base)
    runtime.ledger.catch_up(scope.owner, wait=True)

    def decide() -> Decision:
        before = _find_document(runtime, scope, name)
        if before is None:
            raise InvalidInput("document", "error.no_document", name=name, kb=base)
        removal = [*_removal(runtime, scope, before, runtime.clock.now())]
        return Decision([*removal, *_catalogue(runtime, scope.owner, [ItemDelete(DOCUMENTS, name)])], before)

    info: DocumentInfo = runtime.ledger.write(scope.owner, decide).result
    _forget_words(runtime, scope.owner)
    return info


# --- searching ------------------------------------------------------------------------------------


def search_knowledge(
    runtime: Runtime, tenant: str, query: str, bases: Sequence[str] | None = None, k: int = 5
) -> list[KnowledgePassage]:
    """The passages that answer a query, best first, from these knowledge bases or from all of the tenant.
    Nothing is reinforced."""
    check_text("query", query)
    check_whole("k", k, 1)
    names = find_bases(runtime, tenant) if bases is None else list(bases)
    found = [each for name in names for each in _search(runtime, knowledge_scope(tenant, name), query, k)]
    if len(names) > 1:  # scores of one base cannot be compared with those of another
        found.sort(key=lambda each: (-each.confidence, -each.score, each.source))
    return found[:k]


def _search(runtime: Runtime, scope: Scope, query: str, k: int) -> list[KnowledgePassage]:
    """Passages of one state of the knowledge base: if documents were replaced meanwhile, it is searched
    again."""
    for _ in range(ATTEMPTS):
        runtime.ledger.catch_up(scope.owner)
        before = runtime.store.applied(scope.owner)
        found = recall(runtime, scope, RecallRequest(query, k, mark=False))
        ids = tuple({item_id(DOCUMENTS, each.memory.source.session or "") for each in found})
        items = runtime.store.items(scope.owner, ItemFilter(DOCUMENTS, ids=ids))
        versions = {item.key: _info(scope, item.key, read_value(item)) for item in items}
        if runtime.store.applied(scope.owner) == before:
            return [_passage(scope, each, versions) for each in found]
    raise Conflict("error.knowledge_changing")


def _passage(scope: Scope, found: Recollection, versions: Mapping[str, DocumentInfo]) -> KnowledgePassage:
    memory = found.memory
    name, page = memory.source.session or "", memory.metadata.get("page")
    return KnowledgePassage(
        base=scope.user.removeprefix(PREFIX),
        document=name,
        version=versions[name].version if name in versions else 1,
        heading=memory.text.trigger,
        page=page if isinstance(page, int) else None,
        text=memory.text.content,
        score=found.score,
        confidence=found.terms.get("confidence", 1.0),
    )
