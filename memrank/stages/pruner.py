"""pruner.v1: what stays in the context. Keep, summarize or drop by decay, within a token budget; what is protected
stays.
"""

from typing import Any, ClassVar

import dspy
import numpy as np

from memrank.errors import SpecError
from memrank.score import pack
from memrank.slate import ACTIONS, JUDGES, REASONS, Column, Slate
from memrank.spec import PrunerSpec
from memrank.speclm import LmSpec
from memrank.stages.base import EmbeddedPredict, Stage, asked
from memrank.stages.judged import Summarized, Wanted
from memrank.stages.lm.showing import shown_query
from memrank.stages.lm.signatures import ContextDecay, ElementDecay, ElementView
from memrank.stores.base import Snapshot
from memrank.tenant import BYTES_PER_TOKEN, Rows, count_tokens
from memrank.text.summary import summarize
from memrank.text.tokens import Tokenizer
from memrank.types import Bools, Floats, Notes


class EmbeddedDecay(EmbeddedPredict[Floats]):
    """Plain memories decay as their score falls: decay = 1 - score; what was superseded has decay 1."""

    def __init__(self, signature: type[dspy.Signature], params: PrunerSpec) -> None:
        super().__init__(signature)
        self._params = params

    def judge(self, slate: Slate) -> Floats:
        """Decay, shape (n,): 0 essential to 1 worthless."""
        return np.where(slate[Column.SUPERSEDED] > 0, 1.0, 1.0 - slate[Column.SCORE])

    def inputs(self, slate: Slate) -> dict[str, Any]:
        """Fields of `ContextDecay`."""
        budget = slate.limits.max_tokens or self._params.max_tokens
        elements = []
        for k in range(len(slate)):
            memory = slate.memory(k)
            moment = memory.event_date or memory.created_at
            date, kind = moment.text if moment else None, memory.memory_type or "memory"
            elements.append(ElementView(id=memory.id, kind=kind, content=memory.content, date=date))
        return {"message": slate.query.text, "elements": elements, "max_tokens": budget, "faults": []}

    def outputs(self, slate: Slate, answer: Floats) -> dict[str, Any]:
        """Fields of `ContextDecay`."""
        classes = classify(slate, answer, self._params)
        actions = pack.planned(classes, slate[Column.SUPERSEDED_BY] >= 0, _protected(slate))
        decisions = [
            ElementDecay(
                id=slate.memory(k).id,
                decay_class=int(classes[k]),
                action=ACTIONS[int(actions[k])],  # type: ignore[arg-type]
                rationale=f"score {slate[Column.SCORE][k]:.2f}",
            )
            for k in range(len(slate))
        ]
        return {"decisions": decisions}


class Pruner(Stage):
    """Plans an action for each ranked or protected candidate and fits what is kept into the budget."""

    kind: ClassVar[str] = "pruner.v1"
    signature: ClassVar[type[dspy.Signature]] = ContextDecay

    def __init__(self, params: PrunerSpec, tokenizer: Tokenizer, lm: LmSpec | None = None) -> None:
        super().__init__()
        self.params = params
        self._tokenizer = tokenizer
        self.decay = EmbeddedDecay(ContextDecay, params)
        self.summarize = None if params.summaries == "extract" else _model(lm)

    def protects(self, snapshot: Snapshot) -> Rows:
        """Rows that are kept whatever they score: pinned ones, and the last turns of the conversation.

        The conversation is the session of the newest visible turn.
        """
        tenant, visible = snapshot.tenant, snapshot.visible
        pinned = np.flatnonzero(tenant.pinned & visible)
        turns = np.flatnonzero(tenant.turn & visible).tolist() if self.params.keep_last_turns else []
        if not turns:
            return pinned
        created = np.where(np.isnan(tenant.times.created), -np.inf, tenant.times.created)

        def when(row: int) -> tuple[float, int, int, str]:
            memory = tenant.memories[row]
            # The place in the file only orders what has no number: otherwise the order of the input would matter.
            place = (0, row) if memory.turn is None else (memory.turn, -1)
            return float(created[row]), *place, memory.id

        session = tenant.memories[max(turns, key=when)].session_id
        own = sorted((row for row in turns if tenant.memories[row].session_id == session), key=when)
        last = np.array(own[-self.params.keep_last_turns :], dtype=np.int64)
        return np.concatenate([pinned, last])

    def forward(self, slate: Slate) -> Slate:
        """See `Stage`."""
        params = self.params
        budget = slate.limits.max_tokens if slate.limits.max_tokens is not None else params.max_tokens
        notes = Notes()
        reason = slate[Column.REASON].copy()
        protected = _protected(slate)
        spared = np.where(protected, reason, 0.0)
        reason[protected] = 0
        decay: Floats = asked(self.decay, slate)
        replaced = slate[Column.SUPERSEDED_BY] >= 0
        planned = pack.planned(classify(slate, decay, params), replaced, protected)
        planned[(reason != 0) & ~replaced] = pack.DROP
        inside = slate.ranked(slate[Column.SCORE], reason)
        full = slate.tenant.tokens[slate.rows]
        texts = self._summaries(slate, inside, planned, decay, protected, budget)
        short = full.copy()
        for k, text in texts.items():
            short[k] = count_tokens(text)
        action = planned.copy()
        action[inside], fits = pack.fit(
            planned[inside], decay[inside], full[inside], short[inside], protected[inside], max_tokens=budget
        )
        if not fits:
            notes.add(
                "info", "pruner", "protected_over_budget", "protected memories alone exceed max_tokens; all are kept"
            )
        out = (reason == 0) & (action >= pack.DROP)
        reason[out & (planned < pack.DROP)] = REASONS.index("over_budget")
        reason[out & (planned >= pack.DROP)] = REASONS.index("below_min_score")
        reason[out & (planned >= pack.DROP) & (slate[Column.SUPERSEDED] > 0)] = REASONS.index("stale")
        columns = {
            Column.DECAY: np.clip(decay, 0.0, 1.0),
            Column.PLANNED: planned.astype(np.float64),
            Column.ACTION: action.astype(np.float64),
            Column.SPARED: spared,
            Column.REASON: reason,
            Column.SCORE: np.where(reason == 0, slate[Column.SCORE], 0.0),
        }
        kept = {k: text for k, text in texts.items() if action[k] == pack.SUMMARIZE}
        pruned = slate.extend(columns, notes, summaries=kept, protected=protected)
        if self.summarize is None:
            return pruned
        taken = float(full[inside[action[inside] == pack.KEEP]].sum()) + sum(short[k] for k in kept)
        return self._rewritten(slate, pruned, budget - taken)

    def _rewritten(self, slate: Slate, pruned: Slate, room: float) -> Slate:
        """The summaries as a model writes them, where it writes something that holds, and `room` is left for it."""
        extracts = pruned.summaries
        order = sorted(extracts, key=lambda k: (pruned[Column.DECAY][k], slate.memory(k).id))
        found = self._written(slate, pruned, order)
        new = [k for k in order if k in found.texts]
        old_tokens = np.array([count_tokens(extracts[k]) for k in new], dtype=np.float64)
        new_tokens = np.array([count_tokens(found.texts[k]) for k in new], dtype=np.float64)
        fits = pack.affordable(old_tokens, new_tokens, room)
        taken = [k for k, fit in zip(new, fits.tolist(), strict=True) if fit]
        by, suspected = np.zeros(len(slate)), slate.columns.get(Column.SUSPECTED, np.zeros(len(slate))).copy()
        by[taken] = JUDGES.index("lm")
        by[sorted(found.failed)] = JUDGES.index("failed")
        suspected[sorted(found.suspected)] = 1.0
        return pruned.extend(
            {Column.SUMMARIZED_BY: by, Column.SUSPECTED: suspected},
            found.notes,
            summaries={**extracts, **{k: found.texts[k] for k in taken}},
            figures={**slate.figures, **found.figures},
        )

    def _written(self, slate: Slate, pruned: Slate, order: list[int]) -> Summarized:
        """What the model of the read writes; what it wrote, in a record; nothing where none may be asked."""
        most = self.params.summary_tokens
        if Column.SUMMARIZED_BY in slate.columns:
            by = slate[Column.SUMMARIZED_BY]
            texts = {k: slate.summaries[k] for k in order if by[k] == JUDGES.index("lm") and k in slate.summaries}
            return Summarized(
                texts={k: text for k, text in texts.items() if count_tokens(text) <= most},
                failed=frozenset(k for k in order if by[k] == JUDGES.index("failed")),
            )
        if slate.reading is None:
            notes = Notes()
            notes.add("info", "pruner", "no_lm", "no model was asked: summaries are sentences of the memories")
            return Summarized(notes=notes)
        wanted = {k: Wanted(content=slate.memory(k).content, extract=pruned.summaries[k], most=most) for k in order}
        query = shown_query(slate.query).text
        summarize: Any = self.summarize
        found: Summarized = summarize(wanted=wanted, query=query, count=count_tokens, reading=slate.reading).answer
        return found

    def _summaries(
        self, slate: Slate, inside: pack.Ints, planned: pack.Ints, decay: Floats, protected: Bools, budget: int
    ) -> dict[int, str]:
        """Candidate to its summary, for those that may need one: planned ones, too long ones, and the one at the edge.

        Elements are taken from the lowest decay up. Beyond the first that exceeds the budget `pack.fit` drops whatever
        comes, summarized or not, so no more summaries are made: for a large pool they would be most of a read.
        """
        full = slate.tenant.tokens[slate.rows]
        safe = inside[protected[inside]]
        free = inside[~protected[inside] & (planned[inside] <= pack.SUMMARIZE)]
        total = float(full[safe].sum())
        room = max(0.0, budget - total)
        size = self.params.summary_tokens * BYTES_PER_TOKEN
        texts: dict[int, str] = {}
        if room == 0:
            return texts

        def cost(k: int) -> float:
            text = summarize(slate.memory(k).content, slate.query_terms, self._tokenizer.terms, size)
            tokens = count_tokens(text)
            if tokens >= full[k]:
                return float(full[k])
            texts[k] = text
            return tokens

        for k in free[np.argsort(decay[free], kind="stable")].tolist():
            shorten = planned[k] == pack.SUMMARIZE or full[k] > room
            needed = cost(k) if shorten else float(full[k])
            if needed > room:
                continue
            total += needed
            if total > budget:
                if not shorten:
                    cost(k)
                break
        return texts


def _model(lm: LmSpec | None) -> dspy.Module:
    from memrank.stages.lm.summarizing import LmSummaries

    if lm is None:
        raise SpecError(["summaries: lm without a model; allowed: an lm section"])
    return LmSummaries(lm)


def _protected(slate: Slate) -> Bools:
    """What is really kept: nothing keeps a memory that has expired or is not true at the moment asked about."""
    return slate.protected & ~((slate[Column.EXPIRED] > 0) | (slate[Column.INVALID_THEN] > 0))


def classify(slate: Slate, decay: Floats, params: PrunerSpec) -> pack.Ints:
    """Decay class 1 to 5 of each candidate."""
    return pack.decay_class(
        decay,
        slate[Column.SUPERSEDED] > 0,
        keep_below=params.keep_below,
        summarize_from=params.decay_threshold,
        drop_from=params.drop_threshold,
    )
