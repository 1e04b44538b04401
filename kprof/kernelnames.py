"""Short names of kernels, from the full ones that demanglers print."""

from __future__ import annotations

import re
from typing import Final

_OPENERS: Final = {"(": ")", "<": ">", "[": "]", "{": "}"}
_CLOSERS: Final = {closer: opener for opener, closer in _OPENERS.items()}
_OPERATOR: Final = re.compile(r"\boperator\s*(\(\)|\[\]|->\*?|<=>|<<=?|>>=?|&&|\|\||\+\+|--|[-+*/%^&|~!=<>]=?|,)")
_SPECIAL: Final = re.compile(r"[(<\[{)>\]}:]|\boperator\b|->")
_WORD: Final = re.compile(r"[^\s*&]+$")

_LIBRARIES: Final = re.compile(
    r"\bat(?:_cuda_detail)?::|\bc10::|\bcub::|\bthrust::|\bcutlass(?:::|_)|\bcudnn|\bcublas|\bcusparse|\bcufft|"
    r"\bnvjet|\bpytorch_flash::|\bfmha_|\bnccl|\b(?:volta|turing|ampere|maxwell|sm\d\d)_|\bgemv|\bgemm|\bsplitK|\bmagma_"
)


def is_library_kernel(full_name: str) -> bool:
    """The kernel is of torch's or of a library that torch calls: by the names that those give their own."""
    return _LIBRARIES.search(full_name) is not None


def base_name(full_name: str) -> str:
    """The function's own name: no return type, namespace, template arguments or parameters.

    A name that is an identifier already (Triton's, a mangled symbol) comes back as it is; so does one of which
    nothing would be left.
    """
    bare = _outside_brackets(_last_component(full_name))
    operator = _OPERATOR.search(bare)
    if operator is not None:
        return operator.group(0).replace(" ", "")
    word = _WORD.search(bare.strip())
    return word.group(0) if word else full_name


def _last_component(name: str) -> str:
    """What stands after the last ``::`` that is outside brackets, up to the parameters."""
    start = position = 0
    while (match := _SPECIAL.search(name, position)) is not None:
        token, position = match.group(0), match.end()
        if token == "operator":
            operator = _OPERATOR.match(name, match.start())
            position = operator.end() if operator else position
        elif token == ":" and name.startswith(":", position):
            position += 1
            start = position
        elif token in _OPENERS:
            opened = match.start()
            position = _closing(name, opened)
            if token == "(" and not name.startswith("::", position):
                return name[start:opened] if opened > start else name[start:]
    return name[start:]


def _closing(name: str, opened: int) -> int:
    """The position after the bracket that closes the one at ``opened``; the end when none does.

    Inside parentheses ``<`` and ``>`` may be comparisons, so a closer that does not fit the innermost bracket closes
    the nearest one that it fits, and is passed over when there is none.
    """
    stack = [name[opened]]
    position = opened + 1
    while stack and (match := _SPECIAL.search(name, position)) is not None:
        token, position = match.group(0), match.end()
        if token in _OPENERS:
            stack.append(token)
        elif token in _CLOSERS and (token != ">" or stack[-1] == "<") and _CLOSERS[token] in stack:
            while stack.pop() != _CLOSERS[token]:
                pass
    return position if not stack else len(name)


def _outside_brackets(component: str) -> str:
    """What is in no bracket; the name of an operator, which may look like brackets, stays whole."""
    kept: list[str] = []
    position = 0
    while (match := _SPECIAL.search(component, position)) is not None:
        kept.append(component[position : match.start()])
        position = match.end()
        if match.group(0) in _OPENERS:
            position = _closing(component, match.start())
        elif match.group(0) == "operator":
            operator = _OPERATOR.match(component, match.start())
            kept.append(operator.group(0) if operator else "operator")
            position = operator.end() if operator else position
    kept.append(component[position:])
    return "".join(kept)
