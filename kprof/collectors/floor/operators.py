"""What an operator does with its arguments, from its schema and from tables of torch's own operators.

The schema says which arguments an operator writes and whether it only gives another view. It does not say whether all
of an argument is read, or whether anything is computed: the tables below do, for torch's operators. Names in them are
without the trailing underscore of the in-place form.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Final

import torch
from torch import Tensor

from kprof.collectors.floor.pieces import SPARSE, tensors_in

UNINITIALISED: Final = frozenset(
    {"empty", "empty_like", "empty_strided", "empty_permuted", "new_empty", "new_empty_strided"}
)
"""Their results hold nothing until something is written."""

_UNDECLARED_VIEWS: Final = frozenset({"_unsafe_view", "unsafe_split", "unsafe_split_with_sizes", "unsafe_chunk"})
"""They give views of their argument, and their schemas do not say so."""

_METADATA_ONLY: Final = UNINITIALISED | {
    "zeros_like", "ones_like", "full_like", "rand_like", "randn_like", "randint_like", "new_zeros", "new_ones",
    "new_full", "is_same_size", "_shape_as_tensor", "_assert_tensor_metadata", "record_stream", "is_pinned", "sym_size",
    "sym_stride", "sym_numel", "sym_storage_offset", "resize", "resize_as", "set",
}  # fmt: skip
"""They look at shape and type of their arguments, not at elements."""

_OVERWRITES: Final = frozenset(
    {
        "copy", "fill", "zero", "uniform", "normal", "random", "exponential", "geometric", "cauchy", "log_normal",
        "bernoulli", "_foreach_copy", "_foreach_zero",
    }
)  # fmt: skip
"""In place, they write their first argument without reading it."""

_MOVES: Final = frozenset(
    {
        "clone", "copy", "_to_copy", "cat", "stack", "repeat", "repeat_interleave", "constant_pad_nd", "pad",
        "reflection_pad1d", "reflection_pad2d", "reflection_pad3d", "replication_pad1d", "replication_pad2d",
        "replication_pad3d", "flip", "roll", "fill", "zero", "where", "masked_fill", "tril", "triu", "select_scatter",
        "slice_scatter", "diagonal_scatter", "as_strided_scatter", "im2col", "unfold_copy", "pixel_shuffle",
        "pixel_unshuffle", "channel_shuffle", "diag_embed", "_local_scalar_dense", "lift_fresh", "_foreach_copy",
        "_foreach_zero", "resolve_conj", "resolve_neg", "_conj_physical", "view_as_real_copy", "_assert_async",
        "to_dense", "_to_dense", "_to_sparse", "to_mkldnn", "_efficientzerotensor", "narrow_copy", "block_diag",
        "_pin_memory",
    }
)  # fmt: skip
"""They move elements and compute nothing."""

_ADDED_TO: Final = frozenset({"addmm", "_addmm_activation", "baddbmm", "addbmm", "addmv", "addr"})
"""Their first argument is scaled by ``beta`` and added to a product."""

_INDEXES: Final = frozenset(
    {
        "gather", "index", "_unsafe_index", "_unsafe_masked_index", "index_select", "take", "embedding",
        "embedding_bag", "_embedding_bag", "_embedding_bag_forward_only", "masked_select", "nonzero_static",
        "scatter", "scatter_add", "scatter_reduce", "index_put", "_index_put_impl", "_unsafe_index_put", "index_add",
        "index_copy", "index_fill", "index_reduce", "put", "masked_scatter", "searchsorted", "bucketize",
        "segment_reduce", "grid_sampler_2d", "grid_sampler_2d_cpu_fallback", "grid_sampler_3d", "cudnn_grid_sampler",
        "nll_loss_forward", "nll_loss2d_forward", "_ctc_loss", "_grouped_mm", "_scaled_grouped_mm",
    }
)  # fmt: skip
"""Which elements they read or write depends on values."""

_SELECTS: Final = frozenset({"masked_fill", "tril", "triu"})
"""They use a part of their arguments, by a mask or a triangle."""

_CONVOLUTIONS: Final = frozenset({"convolution", "_convolution", "cudnn_convolution", "convolution_overrideable"})
_POOLS: Final = frozenset(
    {"max_pool2d_with_indices", "max_pool3d_with_indices", "max_pool1d", "max_pool2d", "max_pool3d", "avg_pool1d",
     "avg_pool2d", "avg_pool3d", "mkldnn_max_pool2d", "mkldnn_max_pool3d"}
)  # fmt: skip


@dataclass(frozen=True)
class _Argument:
    name: str
    written: bool
    out: bool
    default: Any


@dataclass(frozen=True)
class _Schema:
    """What torch says of an operator."""

    name: str
    base: str
    arguments: tuple[_Argument, ...]
    is_view: bool


@lru_cache(maxsize=4096)
def _schema(operator: Any) -> _Schema:
    schema = getattr(operator, "_schema", None)
    if schema is None:
        # Higher-order operators (conditions, flex_attention, Triton kernels) have none.
        return _Schema(str(operator.name()), "", (), is_view=False)
    written = [one.alias_info is not None and one.alias_info.is_write for one in schema.arguments]
    aliased = any(one.alias_info is not None for one in schema.arguments)
    arguments = tuple(
        _Argument(one.name, is_written, one.is_out, one.default_value if one.has_default_value() else None)
        for one, is_written in zip(schema.arguments, written, strict=True)
    )
    base = _base(schema.name)
    declared = (aliased and not any(written)) or torch.Tag.inplace_view in operator.tags
    return _Schema(schema.name, base, arguments, is_view=declared or base in _UNDECLARED_VIEWS)


def _base(name: str) -> str:
    """The bare name of one of torch's own operators; empty for all others."""
    namespace, _, bare = name.partition("::")
    return bare.removesuffix("_") if namespace == "aten" else ""


@dataclass(frozen=True)
class OperatorCall:
    """One call of an operator, as a dispatch mode sees it."""

    operator: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    @cached_property
    def schema(self) -> _Schema:
        return _schema(self.operator)

    @property
    def name(self) -> str:
        """As torch's profiler writes it: ``aten::mm``."""
        return self.schema.name

    @property
    def base(self) -> str:
        """``mm``, for the in-place form too; empty where the operator is not torch's own."""
        return self.schema.base

    def argument(self, name: str) -> Any:
        """The value of a named argument, or its default; None where the operator has none of that name."""
        for index, one in enumerate(self.schema.arguments):
            if one.name == name:
                return self.args[index] if index < len(self.args) else self.kwargs.get(name, one.default)
        return None

    @cached_property
    def tensors(self) -> list[Tensor]:
        """All tensors among the arguments, in their order."""
        return tensors_in((*self.args, *self.kwargs.values()))

    @property
    def is_factory(self) -> bool:
        """It makes a tensor from no other's elements."""
        return self.base in _METADATA_ONLY or not self.tensors

    @property
    def is_uninitialised(self) -> bool:
        return self.base in UNINITIALISED

    @property
    def computes(self) -> bool:
        """It computes on elements, as far as is known."""
        return not (self.is_factory or self.schema.is_view or self.base in _MOVES or self.base in _INDEXES)

    def read(self) -> list[Tensor]:
        """The tensors whose elements it reads."""
        if self.is_factory or self.schema.is_view:
            return []
        if not self.schema.arguments:
            return self.tensors
        read = []
        for index, one in enumerate(self.schema.arguments):
            overwritten = one.out or (one.written and index == 0 and self.base in _OVERWRITES)
            # beta = 0 leaves the addend alone: it may hold anything.
            unused = index == 0 and self.base in _ADDED_TO and self.argument("beta") == 0
            if not overwritten and not unused:
                read += tensors_in(self.argument(one.name))
        return read

    def written(self) -> list[tuple[Tensor, bool]]:
        """The tensors that it writes in place, and for each whether it does so without reading it."""
        if self.schema.is_view:
            return []
        return [
            (tensor, one.out or (index == 0 and self.base in _OVERWRITES))
            for index, one in enumerate(self.schema.arguments)
            if one.written
            for tensor in tensors_in(self.argument(one.name))
        ]

    def may_read_a_part(self, result: Any) -> bool:
        """It may leave elements of its arguments unread, or write a part of what it writes: by values or by a stride.

        Windows that step over elements within the tensor count, rows left over at its border do not.
        """
        if self.base in _INDEXES or self.base in _SELECTS or any(tensor.layout in SPARSE for tensor in self.read()):
            return True
        if self.base == "where":
            # The condition is read in full, and numbers to choose from are no matter.
            return any(tensor.numel() > 1 for tensor in self.tensors[1:])
        skips: Callable[[], bool] | None = None
        if self.base in _CONVOLUTIONS:
            skips = self._convolution_skips
        elif self.base in _POOLS:
            skips = self._pool_skips
        elif self.base.startswith(("upsample_", "_upsample_")):
            return _is_smaller(result, self.args[0])
        return skips is not None and skips()

    def _convolution_skips(self) -> bool:
        weight = self.argument("weight")
        if self.argument("transposed") or weight is None:
            return False
        return _windows_skip(tuple(weight.shape[2:]), self.argument("stride"), self.argument("dilation"))

    def _pool_skips(self) -> bool:
        kernel = self.argument("kernel_size")
        return _windows_skip(kernel, self.argument("stride") or kernel, self.argument("dilation") or (1,))


def _windows_skip(kernel: Any, stride: Any, dilation: Any) -> bool:
    """Windows at multiples of the stride meet only some residues modulo the stride, in some dimension."""
    rank = max(len(kernel), len(stride), len(dilation))
    # One value may stand for all dimensions.
    widths, steps, gaps = ((tuple(values) * rank)[:rank] for values in (kernel, stride, dilation))
    return any(
        len({offset * gap % step for offset in range(width)}) < step
        for width, step, gap in zip(widths, steps, gaps, strict=True)
    )


def _is_smaller(result: Any, source: Any) -> bool:
    tensors = tensors_in(result)
    return bool(tensors) and any(new < old for new, old in zip(tensors[0].shape[2:], source.shape[2:], strict=False))
