"""From any text to a C identifier."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection

#: Longest identifier given: C11 promises 31 significant characters for external names, every
#: compiler in use gives more, and people have to read them.
LONGEST = 40

_KEYWORDS = """
    auto break case char const continue default do double else enum extern float for goto if
    inline int long register restrict return short signed sizeof static struct switch typedef
    union unsigned void volatile while asm typeof fortran
    alignas alignof atomic_bool bool catch char8_t char16_t char32_t class co_await co_return
    co_yield compl concept const_cast consteval constexpr constinit decltype delete dynamic_cast
    explicit export false friend mutable namespace new noexcept nullptr operator private protected
    public reinterpret_cast requires static_assert static_cast template this thread_local throw
    true try typeid typename using virtual wchar_t and and_eq bitand bitor not not_eq or or_eq xor
    xor_eq complex imaginary noreturn generic half linux unix i386 near far huge pascal interrupt
"""
_STANDARD = """
    main abort abs atexit atof atoi atol atoll bsearch calloc div exit free getenv labs ldiv llabs
    lldiv malloc qsort rand realloc srand strtod strtof strtol strtoll strtoul strtoull system
    memchr memcmp memcpy memmove memset strcat strchr strcmp strcpy strlen strncmp strncpy strstr
    printf puts putchar scanf fopen fclose fread fwrite remove rename signal raise time clock
    errno assert offsetof stdin stdout stderr index isalpha isdigit isspace tolower toupper
    double_t float_t size_t ptrdiff_t max_align_t
    NULL EOF NAN INFINITY HUGE_VAL HUGE_VALF HUGE_VALL FLT_MAX FLT_MIN FLT_EPSILON DBL_MAX
    DBL_MIN DBL_EPSILON RAND_MAX EXIT_SUCCESS EXIT_FAILURE CHAR_BIT SIZE_MAX M_PI M_E I NDEBUG
    PTRDIFF_MAX FP_NAN FP_INFINITE FP_ZERO FP_SUBNORMAL FP_NORMAL math_errhandling MATH_ERRNO
    fpclassify isfinite isinf isnan isnormal signbit isgreater isgreaterequal isless islessequal
    islessgreater isunordered j0 j1 jn y0 y1 yn gamma drem finite significand
"""
_MATH = """
    acos asin atan atan2 cos sin tan acosh asinh atanh cosh sinh tanh exp exp2 expm1 frexp ilogb
    ldexp log log10 log1p log2 logb modf scalbn scalbln cbrt fabs hypot pow sqrt erf erfc lgamma
    tgamma ceil floor nearbyint rint lrint llrint round lround llround trunc fmod remainder remquo
    copysign nan nextafter nexttoward fdim fmax fmin fma
"""
_INTEGERS = [
    f"{sign}int{kind}{bits}_t"
    for sign in ("", "u")
    for kind in ("", "_least", "_fast")
    for bits in (8, 16, 32, 64)
] + ["intptr_t", "uintptr_t", "intmax_t", "uintmax_t"]
_LIMITS = [f"{name[:-2].upper()}_{end}" for name in _INTEGERS for end in ("MAX", "MIN", "C")]

#: Names that emitted code may not define: keywords of C and C++, macros and functions of the
#: standard headers that it includes.
RESERVED = frozenset(
    [
        *_KEYWORDS.split(),
        *_STANDARD.split(),
        *(name + end for name in _MATH.split() for end in ("", "f", "l")),
        *_INTEGERS,
        *_LIMITS,
    ]
)

#: What `match_aie.codegen.network` defines for every network, after "<network>_".
NETWORK_SUFFIXES = (
    "reset",
    "run",
    "run_in",
    "run_many",
    "set_trace",
    "sizes",
    "step",
    "trace",
    "weights",
    "arena",
    "steps",
    "before",
    "after",
    "main",
)


def network_symbols(network: str) -> frozenset[str]:
    """Names that the code of `network` defines itself; layers and functions must avoid them."""
    return frozenset(f"{network}_{suffix}" for suffix in NETWORK_SUFFIXES)


def identifier(text: str, taken: Collection[str] = ()) -> str:
    """A readable C identifier for `text`: unique, at most 40 characters, always the same.

    Letters lose their accents, everything else that C does not allow becomes one underscore.
    The result never begins or ends with an underscore and holds no two in a row, since C and C++
    reserve such names, is in no case a keyword or a name of the standard headers.

    Args:
        text: anything a user may have called something.
        taken: identifiers that the result must differ from.

    >>> identifier("conv1/Relu:0")
    'conv1_Relu_0'
    >>> identifier("float"), identifier("7up"), identifier("")
    ('n_float', 'n_7up', 'n')
    >>> identifier("a b", {"a_b"})
    'a_b_2'
    """
    letters = unicodedata.normalize("NFKD", text[: 16 * LONGEST])
    plain = "".join(c for c in letters if not unicodedata.combining(c))
    stem = re.sub(r"[^A-Za-z0-9]+", "_", plain).strip("_")[:LONGEST].rstrip("_")
    if not stem:
        stem = "n"
    if stem[0].isdigit() or stem in RESERVED:
        stem = f"n_{stem}"[:LONGEST].rstrip("_")
    name, count = stem, 1
    while name in taken or name in RESERVED:
        count += 1
        end = f"_{count}"
        name = stem[: LONGEST - len(end)].rstrip("_") + end
    return name


def comment(text: str, limit: int = 60) -> str:
    """`text` fit to stand inside a C or Makefile comment on one line: a small set of characters.

    >>> comment("a*/ system(1)?")
    'a_/ system(1)_'
    """
    safe = re.sub(r"[^A-Za-z0-9_.,:/()\[\]=+<> -]", "_", text[: limit + 1])
    safe = safe.replace("//", "/_")
    return safe if len(text) <= limit else safe[: limit - 3] + "..."
