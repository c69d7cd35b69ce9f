"""The only door to ONNX files: reads, writes and compares models."""

from taso_opt.onnx_io.bodies.decisions import deciding_values
from taso_opt.onnx_io.bodies.excerpt import Excerpt
from taso_opt.onnx_io.bodies.function_bodies import newest_opset, opsets_with_body, with_body
from taso_opt.onnx_io.bodies.inner_models import InnerModel, inner_models, with_inner_models
from taso_opt.onnx_io.bodies.local_functions import without_calls
from taso_opt.onnx_io.bodies.unroll import LoopModel, loop_models, with_loop_models
from taso_opt.onnx_io.census import computes_in_singles, operator_counts, rounds_to_integers
from taso_opt.onnx_io.files.load import load_model
from taso_opt.onnx_io.files.memory import ModelProto, model_in_memory, store_model
from taso_opt.onnx_io.files.save import (
    check_data,
    check_output,
    complete,
    copy_unchanged,
    data_files,
    holds_its_data,
    inlined,
    save_atomically,
    save_copy,
)
from taso_opt.onnx_io.files.skeleton import skeleton
from taso_opt.onnx_io.nodes import folded_terms
from taso_opt.onnx_io.probes.blocked import (
    BLOCKED,
    FROM_BLOCKED,
    PLAIN,
    TO_BLOCKED,
    conversion_model,
    cut_to_conversions,
    cut_to_core,
    cut_to_used,
    overwritten,
    put_before_users,
    put_between_convolutions,
)
from taso_opt.onnx_io.probes.copies import chain, repeat
from taso_opt.onnx_io.probes.own_spelling import OwnSpelling, lengthened, own_spellings, respelled
from taso_opt.onnx_io.probes.showing import showing, what_goes_in
from taso_opt.onnx_io.probes.standalone import LARGE_BYTES, OLDEST_IR, fill_weights, set_weights_aside, standalone_model
from taso_opt.onnx_io.reading.model import Model, ModelInput, NodeUse, Origin
from taso_opt.onnx_io.reading.read import read_model
from taso_opt.onnx_io.references.randomness import seeded
from taso_opt.onnx_io.scopes import names_in_bodies
from taso_opt.onnx_io.tidying.cutout import Cutout, cut_out, has_control_flow, needs_libraries
from taso_opt.onnx_io.tidying.tidy import Tidied, has_plain_bodies
from taso_opt.onnx_io.writing.arrangement import in_written_order
from taso_opt.onnx_io.writing.fidelity import check_fidelity, keeps_signature, signature
from taso_opt.onnx_io.writing.write import bytes_added, spellable, weight_bytes, write_model

__all__ = [
    "BLOCKED",
    "FROM_BLOCKED",
    "LARGE_BYTES",
    "OLDEST_IR",
    "PLAIN",
    "TO_BLOCKED",
    "Cutout",
    "Excerpt",
    "InnerModel",
    "LoopModel",
    "OwnSpelling",
    "Model",
    "ModelInput",
    "ModelProto",
    "NodeUse",
    "Origin",
    "Tidied",
    "bytes_added",
    "chain",
    "check_fidelity",
    "check_data",
    "check_output",
    "complete",
    "computes_in_singles",
    "conversion_model",
    "copy_unchanged",
    "data_files",
    "cut_out",
    "cut_to_conversions",
    "cut_to_core",
    "cut_to_used",
    "deciding_values",
    "fill_weights",
    "folded_terms",
    "has_control_flow",
    "holds_its_data",
    "in_written_order",
    "inlined",
    "keeps_signature",
    "inner_models",
    "load_model",
    "loop_models",
    "has_plain_bodies",
    "model_in_memory",
    "names_in_bodies",
    "needs_libraries",
    "newest_opset",
    "operator_counts",
    "opsets_with_body",
    "overwritten",
    "put_before_users",
    "put_between_convolutions",
    "read_model",
    "repeat",
    "rounds_to_integers",
    "save_atomically",
    "save_copy",
    "seeded",
    "set_weights_aside",
    "showing",
    "signature",
    "skeleton",
    "lengthened",
    "own_spellings",
    "respelled",
    "spellable",
    "standalone_model",
    "store_model",
    "weight_bytes",
    "what_goes_in",
    "with_body",
    "with_inner_models",
    "with_loop_models",
    "without_calls",
    "write_model",
]
