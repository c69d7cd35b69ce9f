"""What specs/ is written in: the declarations of operators, their axioms and the library that collects them."""

from taso_opt.core.term import OPAQUE
from taso_opt.spec.axiom import Axiom, AxiomInstance, axiom, definition
from taso_opt.spec.builder import Builder
from taso_opt.spec.library import SpecLibrary, load_specs
from taso_opt.spec.operator import (
    ArrayModule,
    OnnxCall,
    OnnxNode,
    Operator,
    ScalarFunction,
    Spelling,
    WriteContext,
    plain_spelling,
    weight_operator,
)

__all__ = [
    "OPAQUE",
    "ArrayModule",
    "Axiom",
    "AxiomInstance",
    "Builder",
    "OnnxCall",
    "OnnxNode",
    "Operator",
    "ScalarFunction",
    "SpecLibrary",
    "Spelling",
    "WriteContext",
    "axiom",
    "definition",
    "load_specs",
    "plain_spelling",
    "weight_operator",
]
