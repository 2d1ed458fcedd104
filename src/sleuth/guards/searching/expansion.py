"""Another query for one that found nothing: by pseudo-relevance feedback from what was found before, or by the model.

The feedback follows RM3 (Abdul-Jaleel et al. 2004, UMass at TREC 2004: Novelty and HARD, section 3) in a simple form.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

from sleuth.guards.outcome import spared
from sleuth.guards.scaffold import label, line
from sleuth.guards.searching.keywords import keywords
from sleuth.guards.text import STOP, sentences, stem, stems, words
from sleuth.transcript import plain_words
from sleuth.types import Flow, Message, Passage
from sleuth.verbs import generate

TERMS = 5
"""Terms of the feedback that are put behind a query."""
TITLES = 2
"""Titles, at most: those of the sentences that go best with the query."""
SENTENCES = 10
"""Sentences that make up the feedback: those that share most words with the query."""
LONGEST = 300
"""Characters of a query that the model writes, at most."""

INSTRUCTIONS = """\
A search found nothing. Write another query for the same thing: other words, names as they are.

Query: How tall is the Varrow Point lighthouse?
Other query: Varrow Point lighthouse height in metres

Query: warden Orsa Hall 1912
Other query: who was in charge of Orsa Hall in 1912
"""

_OTHER = label("Other query:")


def feedback(query: str, found: Iterable[Passage]) -> str:
    """The query with titles and terms of what was found before and goes with it; "" where nothing does.

    Relevance model over sentences s of the passages: P(w) = sum over s of P(w|s) P(s|query), where P(w|s) is the
    word's share of the sentence and P(s|query) is in proportion to the share of the query's words that the sentence
    says with its title. As in RM3 the query itself is kept, and the terms of the largest P(w) are added to it.
    """
    asked = stems(query)
    best = sorted(_shares(asked, found), key=lambda item: -item[0])[:SENTENCES]
    weights: dict[str, float] = defaultdict(float)
    spelled: dict[str, str] = {}
    for share, _, sentence in best:
        said = [(stem(w.form), sentence[w.start : w.end]) for w in words(sentence) if w.form not in STOP]
        for term, times in Counter(term for term, _ in said).items():
            weights[term] += share * times / len(said)
        spelled |= {term: word for term, word in said if term not in spelled}
    told = (" ".join(title.split()) for _, title, _ in best)
    titles = list(dict.fromkeys(title for title in told if title and not stems(title) <= asked))[:TITLES]
    known = asked | stems(" ".join(titles))
    terms = [term for term in sorted(weights, key=lambda term: -weights[term]) if term not in known][:TERMS]
    added = [*titles, *(spelled[term] for term in terms)]
    return " ".join([query.strip(), *added]) if added else ""


def _shares(asked: frozenset[str], found: Iterable[Passage]) -> Iterable[tuple[float, str, str]]:
    """Each sentence that says a word of the query, with its title: its share of them, title, text."""
    for passage in found:
        titled = stems(passage.title)
        for a, b in sentences(passage.text):
            sentence = passage.text[a:b]
            if shared := len(asked & (stems(sentence) | titled)):
                yield shared / len(asked), passage.title, sentence


def prompt(query: str) -> tuple[Message, ...]:
    """The messages that ask the model for another query."""
    return (Message("user", f"{INSTRUCTIONS}\nQuery: {' '.join(query.split())}\nOther query:"),)


def parse(reply: str, query: str) -> str:
    """The reply's first line, without label and wrapping; "" where it is empty, too long or the query over again."""
    other = line(_OTHER.sub("", reply)).strip("\"'“”")
    return "" if len(other) > LONGEST or plain_words(other) in ("", plain_words(query)) else other


def asked_of_model(query: str) -> Flow[str]:
    """Another query, from one short call; "" (and a note) where the model fails or the budget does not reach."""
    reply = yield from spared(generate(prompt(query), stop=("\n",), max_tokens=32))
    return parse(reply.text, query) if reply else ""


def keywords_of(query: str) -> str:
    """Its names, numbers and content words; "" where that is all it has."""
    bare = keywords(query)
    return "" if plain_words(bare) in ("", plain_words(query)) else bare
