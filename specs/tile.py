"""ONNX Tile is read as an Expand where all axes that it repeats have size one; any other repetition is not known."""

from taso_opt.spec import Spelling

EXPANDS_SINCE = 8


def read(op, node):
    kind = node.types[0]
    if kind is None or node.opset < EXPANDS_SINCE or len(node.inputs) < 2 or node.constants[1] is None:
        return None
    repeats = [int(count) for count in node.constants[1]]
    if len(repeats) != kind.rank or min(repeats, default=0) < 1:
        return None
    if any(count > 1 and size != 1 for count, size in zip(repeats, kind.shape, strict=True)):
        return None
    shape = tuple(size if count == 1 else count for count, size in zip(repeats, kind.shape, strict=True))
    return op.Expand(node.inputs[0], shape=shape)


SPELLING = Spelling(("Tile",), read)
