"""Exports architectures of torchvision, timm and transformers as PyTorch writes them, with random weights.

Usage: PYTHON scripts/export_networks.py FOLDER [NAME ...], where PYTHON belongs to an environment with torch,
torchvision, timm, transformers, onnx and onnxscript. A name that ends in `_d` is exported by torch.export
(`dynamo=True`, opset 18), all others by tracing (opset 17). Batch normalizations get random statistics, so that nothing
is zero or one by chance. What cannot be exported is named and left out. Imports nothing of the tool.
"""

import argparse
import sys
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import timm  # type: ignore[import-not-found, unused-ignore]
import torch  # type: ignore[import-not-found, unused-ignore]
import torchvision  # type: ignore[import-not-found, unused-ignore]
import transformers  # type: ignore[import-not-found, unused-ignore]
from torch import nn  # type: ignore[import-not-found, unused-ignore]

Sample = tuple[torch.Tensor, ...]

TORCHVISION = (
    "shufflenet_v2_x1_0 mnasnet1_0 efficientnet_b0 regnet_x_400mf regnet_y_400mf convnext_tiny swin_t mobilenet_v2 "
    "mobilenet_v3_small resnext50_32x4d vgg11_bn squeezenet1_1 resnet18"
)
TIMM = (
    "repvgg_a0 ghostnet_100 hrnet_w18_small mobileone_s0 poolformer_s12 resmlp_12_224 mixer_s16_224 gmlp_s16_224 "
    "levit_128s convmixer_768_32 res2net50_26w_4s skresnet18 selecsls42b cspresnet50 dla34 xception41 efficientvit_b0 "
    "fastvit_t8 edgenext_xx_small hardcorenas_a tresnet_m nfnet_l0 vovnet39a inception_resnet_v2 lcnet_100 tinynet_a "
    "coatnet_0_rw_224 mobilevit_xs efficientformer_l1 crossvit_tiny_240 twins_svt_small pvt_v2_b0 "
    "deit_tiny_patch16_224 cait_xxs24_224 xcit_nano_12_p16_224 mobilenetv4_conv_small rexnet_100 resnest14d dpn68 "
    "pnasnet5large inception_v4 repghostnet_050 mobilenetv3_rw semnasnet_100 fbnetc_100 mixnet_s ese_vovnet19b_dw "
    "gcresnet33ts botnet26t_256 eca_resnet33ts ghostnetv2_100 repvit_m0_9 starnet_s1 inception_next_atto "
    "mambaout_femto hgnetv2_b0 convnextv2_atto pit_ti_224 visformer_tiny sequencer2d_s nasnetalarge focalnet_tiny_srf "
    "davit_tiny maxvit_tiny_rw_224 resnext26ts densenet169 sebotnet33ts_256 regnetz_b16 tiny_vit_5m_224 "
    "efficientvit_m0 vit_tiny_patch16_224"
)
SMALL = {"hidden_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4}
SMALL_ENCODER = {**SMALL, "intermediate_size": 512}
WIDTH = {"hidden_size": 256, "num_hidden_layers": 4, "num_attention_heads": 4}
ENCODER = {**WIDTH, "intermediate_size": 1024}
DECODER = {**WIDTH, "num_key_value_heads": 2, "intermediate_size": 688, "vocab_size": 1000}
TRANSFORMERS: Mapping[str, tuple[str, Mapping[str, object]]] = {
    "bert": ("Bert", ENCODER),
    "albert": ("Albert", {**ENCODER, "embedding_size": 64}),
    "distilbert": ("DistilBert", {"dim": 256, "n_layers": 4, "n_heads": 4, "hidden_dim": 1024}),
    "electra": ("Electra", ENCODER),
    "squeezebert": ("SqueezeBert", {**ENCODER, "embedding_size": 256}),
    "mpnet": ("MPNet", ENCODER),
    "gpt2_d": ("GPT2", {"n_embd": 256, "n_layer": 4, "n_head": 4}),
    "llama_d": ("Llama", DECODER),
    "t5enc": ("T5", {"d_model": 256, "num_layers": 4, "num_heads": 4, "d_ff": 1024, "d_kv": 64, "vocab_size": 1000}),
    "wav2vec2": ("Wav2Vec2", {**ENCODER, "num_hidden_layers": 3}),
    "roberta": ("Roberta", SMALL_ENCODER),
    "deberta": ("DebertaV2", SMALL_ENCODER),
    "convbert": ("ConvBert", {**SMALL_ENCODER, "embedding_size": 128}),
    "mobilebert": ("MobileBert", {"num_hidden_layers": 2}),
    "vit": ("ViT", SMALL_ENCODER),
    "clip_t": ("CLIPText", {**SMALL_ENCODER, "max_position_embeddings": 128}),
    "mamba": ("Mamba", {"hidden_size": 128, "num_hidden_layers": 2, "state_size": 8, "vocab_size": 1000}),
    "rwkv": ("Rwkv", {"hidden_size": 128, "num_hidden_layers": 2, "attention_hidden_size": 128, "vocab_size": 1000}),
    "nystrom": ("Nystromformer", SMALL_ENCODER),
    "opt": ("OPT", {**SMALL, "ffn_dim": 512, "word_embed_proj_dim": 128, "vocab_size": 1000}),
    "qwen2_d": ("Qwen2", {**SMALL, "num_key_value_heads": 2, "intermediate_size": 344, "vocab_size": 1000}),
    "longformer": ("Longformer", {**SMALL_ENCODER, "attention_window": 32}),
    "segformer": ("Segformer", {"depths": [1, 1, 1, 1]}),
    "swinv2": ("Swinv2", {"depths": [1, 1, 1, 1], "embed_dim": 48}),
    "xlnet": ("XLNet", {"d_model": 128, "n_layer": 2, "n_head": 4, "d_inner": 512, "vocab_size": 1000}),
}
OF_IMAGES = ("ViT", "Segformer", "Swinv2")
WITH_CACHES = ("GPT2", "Llama", "Mamba", "Rwkv", "OPT", "Qwen2")
ALSO_BY_EXPORT = "bert convnext_tiny swin_t mobilenet_v3_small efficientnet_b0 t5enc lstm vit mamba rwkv"
TOKENS, SAMPLES, VOCABULARY = 128, 8000, 500


class FirstOutput(nn.Module):  # type: ignore[misc, unused-ignore]
    """A model of transformers that gives its first output and keeps nothing for further tokens."""

    def __init__(self, model: nn.Module, name: str) -> None:
        super().__init__()
        self.model, self.options = model, {"use_cache": False} if name in WITH_CACHES else {}

    def forward(self, data: torch.Tensor) -> torch.Tensor:
        """The hidden states."""
        return self.model(data, return_dict=False, **self.options)[0]


class Segmentation(nn.Module):  # type: ignore[misc, unused-ignore]
    """A segmentation network of torchvision that gives its map alone."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        """The map of classes."""
        return self.model(image)["out"]


def image(*shape: int) -> Sample:
    """A batch of one image of random numbers."""
    return (torch.randn(1, *(shape or (3, 224, 224))),)


def of_torchvision(name: str) -> tuple[nn.Module, Sample]:
    """A classifier of torchvision."""
    return torchvision.models.get_model(name, weights=None), image()


def of_timm(name: str) -> tuple[nn.Module, Sample]:
    """A classifier of timm, at its own size."""
    model = timm.create_model(name, pretrained=False)
    return model, image(*model.default_cfg.get("input_size", (3, 224, 224)))


def of_transformers(name: str) -> tuple[nn.Module, Sample]:
    """A small model of transformers, with tokens, an image or half a second of sound."""
    family, sizes = TRANSFORMERS[name]
    config = getattr(transformers, f"{family}Config")(**sizes)
    config._attn_implementation = "eager"
    kind = "T5EncoderModel" if family == "T5" else f"{family}Model"
    model = FirstOutput(getattr(transformers, kind)(config), family)
    if family in OF_IMAGES:
        return model, image()
    sample = torch.randn(1, SAMPLES) if family == "Wav2Vec2" else torch.randint(0, VOCABULARY, (1, TOKENS))
    return model, (sample,)


def googlenet() -> tuple[nn.Module, Sample]:
    """GoogLeNet without its auxiliary outputs."""
    return torchvision.models.googlenet(weights=None, init_weights=True, aux_logits=False), image()


def lraspp() -> tuple[nn.Module, Sample]:
    """A light segmentation network."""
    model = torchvision.models.segmentation.lraspp_mobilenet_v3_large(weights=None, weights_backbone=None)
    return Segmentation(model), image()


def encoder() -> tuple[nn.Module, Sample]:
    """PyTorch's own transformer encoder."""
    layer = nn.TransformerEncoderLayer(256, 4, 1024, batch_first=True)
    return nn.TransformerEncoder(layer, 3, enable_nested_tensor=False), (torch.randn(1, 100, 256),)


def recurrent(kind: type[nn.RNNBase]) -> tuple[nn.Module, Sample]:
    """Two layers of a recurrent network over 50 steps."""
    return kind(64, 128, 2, batch_first=True), (torch.randn(1, 50, 64),)


def networks() -> dict[str, Callable[[], tuple[nn.Module, Sample]]]:
    """How each architecture is made, by name."""
    found: dict[str, Callable[[], tuple[nn.Module, Sample]]] = {
        "googlenet": googlenet,
        "lraspp": lraspp,
        "transformer_enc_d": encoder,
        "lstm": partial(recurrent, nn.LSTM),
        "gru": partial(recurrent, nn.GRU),
    }
    found |= {name: partial(of_torchvision, name) for name in TORCHVISION.split()}
    found |= {name: partial(of_timm, name) for name in TIMM.split()}
    found |= {name: partial(of_transformers, name) for name in TRANSFORMERS}
    return found | {f"{name}_d": found[name] for name in ALSO_BY_EXPORT.split()}


def settled(model: nn.Module) -> nn.Module:
    """The model for inference, with random statistics."""
    for part in model.modules():
        if isinstance(part, nn.BatchNorm1d | nn.BatchNorm2d):
            part.running_mean.normal_(0, 0.1)
            part.running_var.uniform_(0.5, 1.5)
            if part.affine:
                part.weight.data.uniform_(0.5, 1.5)
                part.bias.data.normal_(0, 0.1)
    return model.eval()


def main() -> int:
    """Export those that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    known, failed = networks(), 0
    unknown = set(options.names) - set(known)
    if unknown:
        parser.error(f"expected names among {', '.join(sorted(known))}, found {', '.join(sorted(unknown))}")
    options.folder.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    for name in options.names or known:
        torch.manual_seed(0)
        how = {"dynamo": True, "opset_version": 18} if name.endswith("_d") else {"dynamo": False, "opset_version": 17}
        try:
            model, sample = known[name]()
            with torch.no_grad():
                torch.onnx.export(settled(model), sample, options.folder / f"{name}.onnx", external_data=False, **how)
        except Exception as error:  # noqa: BLE001 - whatever a library or an export fails on is not our concern
            failed += 1
            print(f"{name}: {type(error).__name__}: {str(error).splitlines()[:1]}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
