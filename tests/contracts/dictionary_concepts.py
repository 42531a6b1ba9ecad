"""The concepts of the engine over plain dictionaries, written from the protocol's docstrings alone."""

from array import array
from collections import Counter
from statistics import mean, pstdev

from nagori.core.memory_scores import cosine
from nagori.core.model import ALIVE, check_vector
from nagori.core.spreading_activation import ActiveConcept, NearConcepts


class Concepts:  # of one space
    def __init__(self):
        self.of, self.vectors = {}, {}  # by memory; by model and name

    def counted(self):
        return Counter(name for names in self.of.values() for name in names)

    def forget(self, memories, batch):
        changed = {m.id for m in batch.memories if m.id in memories and words(m) != words(memories[m.id])}
        self.put({id: names for id, names in self.of.items() if id not in changed | set(batch.erased)})

    def put(self, concepts):
        self.of = concepts
        known = self.counted()
        self.vectors = {key: vector for key, vector in self.vectors.items() if key[1] in known}


def words(memory):
    return memory.searchable, memory.keywords


class DictionaryConcepts:
    def __init__(self, store):
        self.store = store

    def data(self, owner):
        return self.store.data(owner).concepts

    def missing(self, owner, limit):
        memories = self.store.data(owner).memories
        return [memories[id] for id in sorted(memories.keys() - self.data(owner).of.keys())][:limit]

    def put(self, owner, concepts):
        digests = {id: memory.digest for id, memory in self.store.data(owner).memories.items()}
        fitting = {id: dict(e.weights) for id, e in concepts.items() if digests.get(id) == e.digest}
        self.data(owner).put(self.data(owner).of | fitting)
        return len(fitting)

    def count(self, owner):
        return len(self.data(owner).counted())

    def counts(self, owner, names):
        known = self.data(owner).counted()
        return {name: known[name] for name in names if name in known}

    def concepts_of(self, scope, memories, most, hub):
        data, best = self.data(scope.owner), dict[str, float]()
        for memory in self.store.get(scope, list(memories)):
            for name, weight in data.of.get(memory.id, {}).items():
                best[name] = max(best.get(name, 0.0), weight * memories[memory.id])
        counts = data.counted()
        active = [ActiveConcept(name, counts[name], a) for name, a in best.items() if counts[name] <= hub]
        return sorted(active, key=lambda each: (-each.activation / each.memories, each.name))[:most]

    def memories_of(self, scope, concepts, most, filter=ALIVE):
        known, sums = self.data(scope.owner).of, {}
        for memory in self.store.meant(scope, filter):
            if shared := known.get(memory.id, {}).keys() & concepts.keys():
                sums[memory.id] = sum(concepts[name] for name in shared)
        return dict(sorted(sums.items(), key=lambda item: (-item[1], item[0]))[:most])

    def mentions(self, owner, after, limit):
        known = self.data(owner).of
        ids = sorted(id for id in self.store.data(owner).memories if id > after)[:limit]
        return [(id, name, weight) for id in ids for name, weight in sorted(known.get(id, {}).items())]

    def without_vector(self, owner, model, limit):
        counts, vectors = self.data(owner).counted(), self.data(owner).vectors
        waiting = [name for name in counts if (model, name) not in vectors]
        return sorted(waiting, key=lambda name: (-counts[name], name))[:limit]

    def put_vectors(self, owner, model, vectors):
        known = self.data(owner).counted()
        for vector in vectors.values():
            check_vector(vector, None)
        good = {(model, name): vector for name, vector in vectors.items() if name in known}
        self.data(owner).vectors |= good
        return len(good)

    def vectors(self, owner, model, names):
        known = self.data(owner).vectors
        return {name: known[model, name] for name in names if (model, name) in known}

    def nearest(self, owner, vector, model, k):
        check_vector(vector, None)
        known = self.data(owner).vectors.items()
        every = {name: cosine(array("f", vector), array("f", v)) for (of, name), v in known if of == model}
        if not every:
            return NearConcepts({})
        usual = (mean(every.values()), pstdev(every.values()))
        return NearConcepts(dict(sorted(every.items(), key=lambda item: (-item[1], item[0]))[:k]), usual)
