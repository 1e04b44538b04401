"""Base names of kernels."""

from __future__ import annotations

import time

import pytest

from kprof.kernelnames import base_name, is_library_kernel


@pytest.mark.parametrize(
    ("full", "base"),
    [
        (
            "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<int>, "
            "at::detail::Array<char*, 1> >(int, T2, T3)",
            "vectorized_elementwise_kernel",
        ),
        (
            # Recorded on an H200, torch 2.11: a lambda's call operator among the template arguments.
            "void at::native::vectorized_elementwise_kernel<4, at::native::exp_kernel_cuda(at::TensorIteratorBase&)"
            "::{lambda()#2}::operator()() const::{lambda()#2}::operator()() const::{lambda(float)#1}, "
            "std::array<char*, 2ul> >(int, at::native::exp_kernel_cuda(at::TensorIteratorBase&)::{lambda()#2}"
            "::operator()() const::{lambda()#2}::operator()() const::{lambda(float)#1}, std::array<char*, 2ul>)",
            "vectorized_elementwise_kernel",
        ),
        ("combineKernel<Layout::DISPATCH>(...)", "combineKernel"),
        ('void (anonymous namespace)::k<(int)4>(float*, "x")', "k"),
        ("void <unnamed>::k(float*)", "k"),
        ("operator==<A>", "operator=="),
        ("bool ns::operator< <A>(A, B)", "operator<"),
        ("foo(int)::{lambda(float)#1}::operator()(float) const", "operator()"),
        ("triton_poi_fused_add_0", "triton_poi_fused_add_0"),
        ("_Z1kPf", "_Z1kPf"),
        ("lambda [](int) -> void", "lambda"),
        ("std::vector<int> k(int)", "k"),
        ("float *k(int)", "k"),
        ("unsigned long k()", "k"),
        ("void foo(int (*)(float))", "foo"),
        ("void k<(4>3), (bool)1>(int)", "k"),
        ("void k<&ns::f, 2>(A::B)", "k"),
        ("void std::enable_if<true, int>::type ns::k<3>(int)", "k"),
        ("void my_operator<3>(int)", "my_operator"),
        ("k [clone .isra.0]", "k"),
        ("", ""),
        ("(", "("),
    ],
)
def test_base_name(full: str, base: str) -> None:
    assert base_name(full) == base


def test_a_template_argument_is_no_part_of_the_name() -> None:
    assert "dispatch" not in base_name("combineKernel<Layout::DISPATCH>(...)").lower()


@pytest.mark.parametrize(
    ("full", "base"),
    [
        ("x" * 200_000, "x" * 200_000),
        ("void ns::k<" + "ns::T<int>, " * 16_000 + "int>(float*)", "k"),
        ("a<" * 100_000, "a"),
        ("(" * 200_000, "(" * 200_000),
    ],
    ids=["identifier", "template", "unclosed", "parentheses"],
)
def test_a_name_of_200000_characters_takes_no_time(full: str, base: str) -> None:
    began = time.perf_counter()
    assert base_name(full) == base
    assert time.perf_counter() - began < 5


@pytest.mark.parametrize(
    ("name", "library"),
    [
        ("void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<int>>(int)", True),
        ("void cub::DeviceReduceKernel<...>(float*)", True),
        ("void cutlass::Kernel2<cutlass_80_simt_sgemm_128x64>(Params)", True),
        ("ampere_sgemm_128x64_nn", True),
        ("sm90_xmma_gemm_f32f32_tf32f32", True),
        ("nvjet_hsh_128x256_64x4", True),
        ("logsumexp_kernel(float const*, float*, int)", False),
        ("triton_red_fused_softmax_0", False),
        ("softmax", False),
        ("my_at_kernel", False),
        ("void gate<float>(float*)", False),
    ],
)
def test_kernels_of_libraries_are_known_by_name(name: str, library: bool) -> None:
    assert is_library_kernel(name) is library
