"""Making two models' weights equal: by name, by shape, or not at all; and putting buffers back."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from kprof.collectors.precision.weights import BufferSnapshot, equalise_weights, has_weights, uncompiled


class Named(nn.Module):
    """Holds the tensors it is given under their names."""

    def __init__(self, buffers: dict[str, Tensor] | None = None, **parameters: Tensor) -> None:
        super().__init__()
        for name, tensor in parameters.items():
            self.register_parameter(name, nn.Parameter(tensor))
        for name, tensor in (buffers or {}).items():
            self.register_buffer(name, tensor)


def codes(outcome: Any) -> list[str]:
    return [warning.code for warning in outcome.warnings]


def test_nothing_to_do_without_weights() -> None:
    outcome = equalise_weights(nn.ReLU(), nn.Softmax(-1))
    assert (outcome.how, outcome.warnings) == ("none", ())
    assert equalise_weights(torch.relu, torch.relu).how == "none"
    assert not has_weights(nn.ReLU())
    assert has_weights(nn.Linear(2, 2))


def test_equal_weights_are_left_alone() -> None:
    kernel, ref = nn.Linear(3, 4), nn.Linear(3, 4)
    kernel.load_state_dict(ref.state_dict())
    version = kernel.weight._version
    assert equalise_weights(kernel, ref).how == "as_constructed"
    assert kernel.weight._version == version


def test_copies_by_name_in_place() -> None:
    kernel, ref = nn.Linear(3, 4), nn.Linear(3, 4)
    address = kernel.weight.data_ptr()
    outcome = equalise_weights(kernel, ref)
    assert (outcome.how, outcome.warnings) == ("copied_by_name", ())
    assert torch.equal(kernel.weight, ref.weight)
    assert torch.equal(kernel.bias, ref.bias)
    assert kernel.weight.data_ptr() == address


def test_nested_names_and_buffers_are_copied() -> None:
    def make() -> nn.Module:
        return nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3))

    kernel, ref = make(), make()
    ref[1].running_mean += 5
    assert equalise_weights(kernel, ref).how == "copied_by_name"
    assert torch.equal(kernel[1].running_mean, torch.full((3,), 5.0))


def test_copies_by_a_shape_that_is_alone_and_says_so() -> None:
    kernel = Named(w=torch.zeros(4, 3), b=torch.zeros(4))
    ref = nn.Linear(3, 4)
    outcome = equalise_weights(kernel, ref)
    assert outcome.how == "copied_by_shape"
    assert codes(outcome) == ["weights_copied_by_shape"]
    assert "bias to b, weight to w" in outcome.warnings[0].message
    assert torch.equal(kernel.w, ref.weight)
    assert torch.equal(kernel.b, ref.bias)


def test_two_of_one_shape_cannot_be_told_apart() -> None:
    kernel = Named(p=torch.zeros(3, 3), q=torch.zeros(3, 3))
    ref = Named(a=torch.ones(3, 3), b=torch.ones(3, 3))
    outcome = equalise_weights(kernel, ref)
    assert outcome.how == "not_comparable"
    assert codes(outcome) == ["weights_not_comparable"]
    assert "a (3, 3), b (3, 3)" in outcome.warnings[0].message
    assert torch.equal(kernel.p, torch.zeros(3, 3))


def test_a_missing_or_reshaped_weight_is_not_comparable_and_nothing_is_copied() -> None:
    ref = Named(a=torch.ones(3), b=torch.ones(4, 2))
    for kernel in (Named(a=torch.zeros(3)), Named(a=torch.zeros(3), b=torch.zeros(8))):
        assert equalise_weights(kernel, ref).how == "not_comparable"
        assert torch.equal(kernel.a, torch.zeros(3))
    assert "keeps nothing" in equalise_weights(torch.relu, ref).warnings[0].message


def test_plain_attributes_and_lists_of_them_count() -> None:
    class Plain(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.zeros(2, 2)
            self.more = [torch.zeros(5)]

    kernel = Plain()
    ref = Named(weight=torch.ones(2, 2), scale=torch.full((5,), 3.0))
    assert equalise_weights(kernel, ref).how == "copied_by_shape"
    assert torch.equal(kernel.weight, torch.ones(2, 2))
    assert torch.equal(kernel.more[0], torch.full((5,), 3.0))


def test_counters_and_masks_of_the_reference_are_not_needed() -> None:
    ref = Named({"num_batches_tracked": torch.tensor(3), "mask": torch.ones(2, dtype=torch.bool)}, a=torch.ones(3))
    assert equalise_weights(Named(a=torch.zeros(3)), ref).how == "copied_by_name"
    # A counter is never taken for a scale of the same shape.
    kernel = Named({"steps": torch.tensor(0)})
    assert equalise_weights(kernel, Named(scale=torch.tensor(2.0))).how == "not_comparable"


def test_what_only_the_kernel_has_is_named() -> None:
    outcome = equalise_weights(Named(a=torch.zeros(3), extra=torch.zeros(7)), Named(a=torch.ones(3)))
    assert outcome.how == "copied_by_name"
    assert codes(outcome) == ["kernel_weights_unmatched"]
    assert "extra" in outcome.warnings[0].message
    assert equalise_weights(Named(a=torch.zeros(3)), nn.ReLU()).how == "as_constructed"


def test_a_lower_precision_copy_of_equal_weights_is_equal() -> None:
    ref = nn.Linear(3, 4)
    kernel = nn.Linear(3, 4).half()
    kernel.load_state_dict(ref.state_dict())
    assert equalise_weights(kernel, ref).how == "as_constructed"


def test_weights_that_cannot_be_written_are_not_comparable() -> None:
    kernel = Named({"a": torch.zeros(1).expand(3)})
    outcome = equalise_weights(kernel, Named(a=torch.ones(3)))
    assert outcome.how == "not_comparable"
    assert codes(outcome) == ["weights_not_copied"]


def doubled(x: Tensor) -> Tensor:
    return x * 2


def test_a_compiled_model_is_seen_through() -> None:
    ref = nn.Linear(3, 4)
    assert uncompiled(torch.compile(ref, backend="eager")) is ref
    assert uncompiled(torch.compile(doubled, backend="eager")) is doubled
    kernel = nn.Linear(3, 4)
    assert equalise_weights(kernel, torch.compile(ref, backend="eager")).how == "copied_by_name"
    assert torch.equal(kernel.weight, ref.weight)


def test_buffers_come_back_whatever_was_done_to_them() -> None:
    model = nn.Sequential(Named({"count": torch.zeros(2), "kept": torch.ones(3), "cache": None}))  # type: ignore[dict-item]
    inner: Any = model[0]
    kept, snapshot = inner.kept, BufferSnapshot(model)
    inner.count += 1
    inner.kept = torch.full((5,), 9.0)
    inner.cache = torch.ones(1)
    snapshot.restore()
    assert torch.equal(inner.count, torch.zeros(2))
    assert inner.kept is kept
    assert torch.equal(kept, torch.ones(3))
    assert inner.cache is None
    kept.resize_(0)
    snapshot.restore()
    assert torch.equal(kept, torch.ones(3))


def test_a_buffer_that_overlaps_itself_is_no_obstacle() -> None:
    model = Named({"positions": torch.arange(3).expand(4, 3)})
    snapshot = BufferSnapshot(model)
    snapshot.restore()
    assert torch.equal(model.positions, torch.arange(3).expand(4, 3))


def test_functions_have_no_buffers() -> None:
    BufferSnapshot(torch.relu).restore()
