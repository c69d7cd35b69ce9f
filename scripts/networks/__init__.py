"""The benchmark networks: a registry from the name of a network to the function that builds it."""

from collections.abc import Callable

import onnx

from .activations import activation_spellings
from .attention import linear_attention, normalized_attention
from .bert import (
    bert_base,
    bert_first_row,
    bert_first_token,
    bert_heads,
    bert_respelled,
    bert_small,
    bert_taso,
)
from .cells import gru_cells, lstm_cells, lstm_scan, lstm_slices, rnn_cells
from .decoding import grouped_queries
from .densenet import densenet121
from .detection import segmentation_head, sliced_channels
from .distances import radial
from .forecasting import dlinear
from .inception import inception_v3
from .lora import lora
from .mobilenet import mobilenet_spellings
from .nasnet import nasnet
from .preparation import pixel_blocks, raw_image
from .recurrent import lstm, mi_lstm, nasrnn, nasrnn_fresh, sc_rnn, smoothing, sublstm
from .repetition import cloud, messages, recommendation, timesteps
from .repvgg import repvgg, repvgg_normalized
from .resnet import resnet50
from .resnext import resnext50_branches, resnext50_grouped, resnext50_split, resnext_exported
from .signals import keyword_spotter, vocoder, wavenet
from .spellings import gelu_spellings, layernorm_spellings
from .squeezenet import squeezenet
from .towers import normalized_towers, towers
from .upscaling import upscaler
from .vgg import vgg19_convs
from .volumes import scan, video

__all__ = ["NETWORKS"]

_BUILDERS: tuple[Callable[..., onnx.ModelProto], ...] = (
    nasrnn,
    nasrnn_fresh,
    lstm,
    sublstm,
    mi_lstm,
    sc_rnn,
    smoothing,
    gru_cells,
    lstm_cells,
    lstm_slices,
    rnn_cells,
    lstm_scan,
    towers,
    normalized_towers,
    linear_attention,
    normalized_attention,
    lora,
    resnext50_grouped,
    resnext50_split,
    resnext50_branches,
    resnext_exported,
    bert_taso,
    bert_base,
    bert_respelled,
    bert_heads,
    bert_small,
    bert_first_token,
    bert_first_row,
    nasnet,
    resnet50,
    squeezenet,
    inception_v3,
    densenet121,
    vgg19_convs,
    repvgg,
    repvgg_normalized,
    mobilenet_spellings,
    layernorm_spellings,
    gelu_spellings,
    activation_spellings,
    sliced_channels,
    segmentation_head,
    upscaler,
    raw_image,
    pixel_blocks,
    keyword_spotter,
    wavenet,
    vocoder,
    dlinear,
    grouped_queries,
    video,
    scan,
    radial,
    messages,
    timesteps,
    recommendation,
    cloud,
)

# Called without arguments, each gives the size named in its module's docstring; keyword arguments give other sizes.
NETWORKS: dict[str, Callable[..., onnx.ModelProto]] = {builder.__name__: builder for builder in _BUILDERS}
