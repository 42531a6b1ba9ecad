"""An engine over plain dictionaries, written from the protocol's docstrings alone: so much it takes."""

import copy
from array import array
from collections import Counter, defaultdict
from contextlib import contextmanager
from math import inf
from operator import attrgetter
from threading import get_ident

from dictionary_concepts import Concepts, DictionaryConcepts  # type: ignore[import-not-found]

from nagori.core import in_memory_queries as plain
from nagori.core.cycle import Census, CycleRows, life_row
from nagori.core.decay import retention
from nagori.core.memory_scores import cosine
from nagori.core.model import ALIVE, Filter, Hit, ItemFilter, check_vector, to_micros
from nagori.core.relevance import CandidateInfo, Candidates, cosines_of_nearest
from nagori.core.storage_types import NOTHING_APPLIED, Counts, VectorModels
from nagori.core.value_object import replace
from nagori.core.visibility import can_see, matches_filter
from nagori.errors import Conflict
from nagori.language.tokenizer import asks, index_words

ALL, age = Filter(archived=True, forgotten=True), attrgetter("created", "id")


class Data:  # everything of one space
    def __init__(self, active=None):
        self.applied, self.active = NOTHING_APPLIED, active
        self.memories, self.vectors = {}, {}  # vectors by memory and model
        self.relations, self.origins, self.state, self.items, self.concepts = set(), set(), {}, {}, Concepts()
        self.log, self.turns = [], {}  # turns by event


class DictionaryStore:
    name, capabilities = "dictionary", frozenset[str]()

    def __init__(self):
        self.owners = defaultdict(Data)
        self.rebuilt, self.leases, self.dimensions = {}, {}, {}  # rebuilt: a space's new content, by thread
        self.vectors, self.concepts = DictionaryVectors(self), DictionaryConcepts(self)

    def close(self): ...

    def data(self, owner):
        return self.rebuilt.get((get_ident(), owner)) or self.owners[owner]

    def applied(self, owner):
        return self.data(owner).applied

    def commit(self, owner, batch):
        data = self.data(owner)
        if data.applied.seq != batch.before:
            raise Conflict("somebody else was here")
        self.vectors.check(batch.vectors)
        data.concepts.forget(data.memories, batch)
        data.memories |= {memory.id: memory for memory in batch.memories}
        for relation, stands in batch.links.items():
            (data.relations.add if stands else data.relations.discard)(relation)
        data.log = plain.extend_log(data.log, batch)
        self.change_turns(data.turns, batch)
        data.origins = plain.extend_origins(data.origins, batch)
        data.state |= copy.deepcopy(dict(batch.state))
        plain.update_items(data.items, batch.items, batch.renewals)
        self.vectors.change(data, batch.vectors)
        for id in batch.erased:
            self.erase_memory(data, id)
        data.applied = batch.after

    def change_turns(self, turns, batch):
        for turn in batch.turns:
            if turn.seq not in turns and turn.id not in {other.id for other in turns.values()}:
                places = [other.index for other in turns.values() if other.session == turn.session]
                index = max(places, default=-1) + 1 if turn.index is None else turn.index
                turns[turn.seq] = replace(turn, index=index)
        for first, last in batch.processed:
            done = [seq for seq in turns if first <= seq <= last]
            turns |= {seq: replace(turns[seq], processed=True) for seq in done}
        for seq in batch.redacted_turns:
            turns.pop(seq, None)

    def erase_memory(self, data, id):
        data.memories.pop(id, None)
        data.vectors = {key: vector for key, vector in data.vectors.items() if key[0] != id}
        data.relations = {r for r in data.relations if id not in (r.source, r.target)}

    @contextmanager
    def rebuilding(self, owner):
        old, mine = self.data(owner), (get_ident(), owner)
        new = self.rebuilt[mine] = Data(old.active)
        try:
            yield
        finally:
            del self.rebuilt[mine]
        for (_, model), vector in old.vectors.items():
            new.vectors |= {(m.id, model): vector for m in new.memories.values() if m.digest == vector.digest}
        self.owners[owner] = new

    def erase(self, owner, at_once):
        self.leases = {key: lease for key, lease in self.leases.items() if key[0] != owner}
        return int(self.owners.pop(owner, None) is not None)

    def lease(self, owner, work, holder, now, until):
        other, end = self.leases.get((owner, work), (holder, now))
        if end <= now or other == holder:
            other, self.leases[owner, work] = None, (holder, until)
        return other

    def meant(self, scope, filter):
        data, model = self.data(scope.owner), filter.unembedded
        found = [m for m in data.memories.values() if can_see(scope, m) and matches_filter(filter, m)]
        return [m for m in found if model is None or (m.id, model) not in data.vectors]

    def get(self, scope, ids):
        seen = {memory.id: memory for memory in self.meant(scope, ALL)}
        return [seen[id] for id in ids if id in seen]

    def find(self, scope, filter=ALIVE, *, limit=100, older_than=None, oldest_first=False):
        ordered = sorted(self.meant(scope, filter), key=age, reverse=not oldest_first)
        if older_than is not None:
            ordered = [m for m in ordered if (age(m) > age(older_than)) == oldest_first and m != older_than]
        return ordered[:limit]

    def candidates(self, scope, query):
        meant, words = self.meant(scope, query.filter), set(query.words) - {""}
        bags = {id: Counter(index_words(m)) for id, m in self.data(scope.owner).memories.items()}
        near: dict[str, float] = {}
        if query.vector is not None and query.model is not None:
            rules = (query.model, query.filter, -inf)
            near = cosines_of_nearest(query, lambda v, k: dict(self.vectors.hits(scope, v, *rules)[:k]))
        places = {word: {m.id: bags[m.id][word] for m in meant if word in bags[m.id]} for word in words}
        named = near.keys() | set().union(*places.values())
        infos = {m.id: self.sketch(m, bags[m.id].total()) for m in meant if m.id in named}
        mean = sum(bag.total() for bag in bags.values()) / max(1, len(bags))
        found = {word: ids for word, ids in places.items() if ids}
        return Candidates(len(bags), len(words), mean, found, near, (0.0, 1.0), infos)

    def sketch(self, memory, tokens):
        source, text = memory.source, memory.searchable
        said = (source.session, source.turn, source.speaker, tokens, len(text), asks(text))
        return CandidateInfo(memory.id, *said, memory.trust, to_micros(memory.created))

    def cycle_rows(self, owner, rules, now):
        alive = [m for m in self.data(owner).memories.values() if not m.is_forgotten]
        free = [m for m in alive if not m.protected]
        strength = {m.id: retention(m, now, rules.retention, rules.weekly) for m in free}
        free.sort(key=lambda m: (strength[m.id], m.created, m.recalls, m.id))
        census = Census(dict(Counter(m.level for m in free)), len(alive) - len(free))
        rows = [life_row(m) for m in self.data(owner).memories.values()]
        return CycleRows(census, rows, lambda level, n: [life_row(m) for m in free if m.level == level][:n])

    def relations(self, scope, ids):
        seen, known = {m.id for m in self.meant(scope, ALL)}, self.data(scope.owner).relations
        return sorted(r for r in known if {r.source, r.target} & set(ids) and {r.source, r.target} <= seen)

    def history(self, owner, id=None, limit=None):
        log = sorted(self.data(owner).log, key=attrgetter("seq"), reverse=True)
        last = [entry for entry in log if id is None or id in entry.memories][:limit]
        return last if id is None else last[::-1]

    def turns(self, owner, filter):
        return plain.select_turns(self.data(owner).turns, filter)

    def origins(self, owner, ids):
        origins, ids = self.data(owner).origins, set(ids)
        turns = {turn for id, turn in origins if id in ids}
        memories = {id for id, turn in origins if turn in turns}
        return sorted(origin for origin in origins if origin[0] in memories)

    def state(self, owner, key):
        return copy.deepcopy(self.data(owner).state.get(key))

    def items(self, owner, filter):
        return plain.select_items(self.data(owner).items, filter)

    def item_namespaces(self, owner, prefix=()):
        return sorted({item.namespace for item in self.items(owner, ItemFilter(prefix))})

    def known_owners(self):
        return [owner for owner in sorted(self.owners) if self.applied(owner).seq]

    def owners_due(self, key, before):
        values = {owner: data.state.get(key) for owner, data in sorted(self.owners.items())}
        return [owner for owner, value in values.items() if isinstance(value, str) and value < before]

    def count(self, scope, model=None):
        alive = self.meant(scope, Filter(archived=True))
        missing = self.meant(scope, Filter(archived=True, unembedded=model)) if model else []
        gone, replaced = len(self.meant(scope, ALL)) - len(alive), sum(bool(m.superseded_by) for m in alive)
        protected = sum(m.protected for m in alive)
        return Counts(Counter(int(m.level) for m in alive), protected, gone, replaced, len(missing))

    def measure(self, scope, now, tiers):
        return plain.measure_memories(self.meant(scope, Filter(archived=True)), now, tiers)

    def check(self):
        return []


class DictionaryVectors:
    def __init__(self, store):
        self.store = store

    def check(self, vectors):
        for vector in vectors.values():
            check_vector(vector.data, self.store.dimensions.get(vector.model))

    def put(self, owner, vectors):
        return self.check(vectors) or self.change(self.store.data(owner), vectors)

    def change(self, data, vectors):
        """Put those that fit, and take away those whose text changed; how many were put."""
        digests = {id: memory.digest for id, memory in data.memories.items()}
        fitting = {(id, v.model): v for id, v in vectors.items() if digests.get(id) == v.digest}
        self.store.dimensions |= {model: len(v.data) // 4 for (_, model), v in fitting.items()}
        data.active = data.active or min((model for _, model in fitting), default=None)
        data.vectors = {key: v for key, v in (data.vectors | fitting).items() if digests[key[0]] == v.digest}
        return len(fitting)

    def get(self, owner, model, digests):
        vectors = self.store.data(owner).vectors.items()
        return {v.digest: v.data for (_, name), v in vectors if name == model and v.digest in digests}

    def nearest(self, scope, vectors, model, k, filter=ALIVE, least=-inf):
        return [self.hits(scope, vector, model, filter, least)[:k] for vector in vectors]

    def hits(self, scope, vector, model, filter, least):
        check_vector(vector, self.store.dimensions.get(model))
        known = self.store.data(scope.owner).vectors
        points = [(m.id, known.get((m.id, model))) for m in self.store.meant(scope, filter)]
        hits = [Hit(id, cosine(array("f", vector), array("f", v.data))) for id, v in points if v]
        return sorted((hit for hit in hits if hit.score >= least), key=lambda hit: (-hit.score, hit.id))

    def active(self, owner):
        return self.store.data(owner).active

    def models(self, owner):
        return VectorModels(self.active(owner), Counter(model for _, model in self.store.data(owner).vectors))

    def activate(self, owner, model):
        data = self.store.data(owner)
        if complete := all((id, model) in data.vectors for id in data.memories):
            data.active = model
        return complete

    def drop(self, owner, model, limit):
        data = self.store.data(owner)
        theirs = [key for key in data.vectors if key[1] == model and model != data.active][:limit]
        return len([data.vectors.pop(key) for key in theirs])
