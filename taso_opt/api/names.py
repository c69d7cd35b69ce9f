"""What the terms of a rewritten graph are called in the model's file."""

from __future__ import annotations

from taso_opt.core.term import Apply, Term, children, postorder
from taso_opt.onnx_io import Model


class Names:
    """Names of terms in the model's file, and how far from the inputs they stand."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._rank = {node: at for at, node in enumerate(model.order, start=1)}
        self._share: dict[Term, float] = {}

    def name(self, term: Term) -> str | None:
        """The name of the value in the file, None for a term that the search made."""
        origin = self._model.origin.get(term)
        return None if origin is None else origin.value

    def node(self, term: Term) -> str:
        """The name of the node, or of its value where the node has none; what it is for a term of the search."""
        origin = self._model.origin.get(term)
        if origin is None:
            return f"{term.operator} of an earlier step" if isinstance(term, Apply) else "part of an earlier step"
        if origin.node is None:
            return origin.value
        return self._model.proto.graph.node[origin.node].name or origin.value

    def share(self, term: Term) -> float:
        """From 0 at the inputs to 1 at the last node: where the term, or the last node below it, stands."""
        for part in postorder((term,)):
            if part not in self._share:
                origin = self._model.origin.get(part)
                if origin is not None and origin.node is not None:
                    self._share[part] = self._rank[origin.node] / len(self._rank)
                else:
                    self._share[part] = max((self._share[child] for child in children(part)), default=0.0)
        return self._share[term]
