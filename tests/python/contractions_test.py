# SPDX-License-Identifier: MIT
"""einsum, dot, tensordot, multi_dot and their like: NumPy's shapes and errors, exact results on whole numbers, the bounds that
they state elsewhere, and the bits of matmul step by step."""

import itertools
from fractions import Fraction

import kizami
import numpy as np
import pytest
from conftest import DTYPES, holds, random, same_bits, whole

# Extents of the letters below; two of them are equal, so that mistaken axes do not show in shapes alone.
EXTENTS = {"i": 3, "j": 4, "k": 5, "l": 4, "m": 2, "n": 1}
SUBSCRIPTS = [
    "ij,jk->ik", "ij,jk", "ij,kj->ki", "ji,jk->ik", "ij,jk->", "ij,ij->", "ij,ij->ij", "ij,ij->i", "ij,ij->j", "i,i", "i,i->", "i,j->ij",
    "i,j->ji", "ij,j->i", "ij,j", "j,ij->i", "ij->ji", "ij->", "ij->i", "ij->j", "ij", "ji", "ij,kl->ikjl", "ij,kl->", "ij,kl->jl",
    "mij,mjk->mik", "mij,mjk->ikm", "imj,kjm->mik", "mij,jk->mik", "mij,mjk->ik", "ijk,jkl->il", "kij,lkj->il", "ijk,ijk->k", "ijkl,lkm->mij",
    "ij,jk,kl->il", "ij,jk,kl,lm->im", "ij,jk,ki->", "ij,ij,ij->ij", "i,ij,j->", "mi,mj,mk->ijk", "im,jm,km->ijk", "ij,kl,mi->jk", "in,nj->ij",
    "ijn,jkn->ik", "jl->", "jlk,jl->k",
]
REPEATED = [("ii", [(4, 4)]), ("ii->i", [(4, 4)]), ("ii->", [(4, 4)]), ("iij->j", [(3, 3, 2)]), ("iji->ij", [(3, 2, 3)]), ("iii", [(3, 3, 3)]),
            ("ii,ij->j", [(4, 4), (4, 3)]), ("iij,jkk->ik", [(2, 2, 3), (3, 4, 4)]), ("iijj->ij", [(2, 2, 3, 3)]), ("bii,bjj->bij", [(2, 3, 3), (2, 4, 4)])]
ELLIPSES = [
    ("...ij,...jk->...ik", [(2, 3, 4), (2, 4, 5)]), ("...ij,...jk", [(2, 1, 3, 4), (5, 4, 2)]), ("...ij,jk", [(2, 3, 4), (4, 5)]),
    ("...,...", [(3, 4), (4,)]), ("i...,i...->...", [(3, 4, 2), (3, 2)]), ("...i->...", [(2, 3, 4)]), ("i...->...i", [(2, 3, 4)]),
    ("...ii->...", [(2, 3, 3)]), ("ij...,jk...->ik...", [(3, 4, 2), (4, 5, 2)]), ("...,i", [(2, 3), (4,)]), ("...ij,...kj->...ik", [(3, 4), (2, 5, 4)]),
    ("... i j , ... j k", [(3, 4), (4, 5)]), ("b...i,bi->b...", [(2, 3, 4), (2, 4)]), ("...", [(2, 3)]), ("...->...", [()]),
]
BROADCAST = [("ij,jk->ik", [(3, 1), (4, 5)]), ("ij,jk->ik", [(3, 4), (1, 5)]), ("ij,ij->ij", [(3, 1), (1, 4)]), ("ij,ij->", [(3, 4), (3, 1)]),
             ("bij,bjk->bik", [(1, 3, 4), (2, 4, 5)])]
EMPTY = [("ij,jk->ik", [(0, 4), (4, 5)]), ("ij,jk->ik", [(3, 0), (0, 5)]), ("ij->i", [(3, 0)]), ("ij->", [(0, 0)]), ("i,i->", [(0,), (0,)]),
         ("ij,ij->ij", [(0, 3), (0, 3)]), ("bij,bjk->bik", [(0, 3, 4), (0, 4, 5)]), ("ij,jk,kl->il", [(2, 3), (3, 0), (0, 4)])]


def shapes_of(subscripts):
    return [tuple(EXTENTS[x] for x in term) for term in subscripts.partition("->")[0].split(",")]


CASES = [(s, shapes_of(s)) for s in SUBSCRIPTS] + REPEATED + ELLIPSES + BROADCAST + EMPTY


def plain(x):
    """Zeros without their signs, which the order of exact sums decides."""
    return np.asarray(x) + 0


def equal(got, want):
    return type(got) is type(want) and same_bits(plain(got), plain(want))


@pytest.mark.parametrize(("subscripts", "shapes"), CASES)
@pytest.mark.parametrize("dtype", ["float64", "complex64"])
def test_einsum_on_whole_numbers_is_numpys(rng, subscripts, shapes, dtype):
    operands = [whole(rng, shape, dtype) for shape in shapes]
    want = np.einsum(subscripts, *operands)
    for optimize in (True, False, "optimal"):
        got = kizami.einsum(subscripts, *operands, optimize=optimize)
        assert equal(got, want), optimize


@pytest.mark.parametrize("types", list(itertools.product(DTYPES, DTYPES)))
def test_einsum_promotes(rng, types):
    a, b, c = whole(rng, (3, 4), types[0]), whole(rng, (4, 2), types[1]), whole(rng, (2, 3), types[0])
    assert equal(kizami.einsum("ij,jk,ki->ij", a, b, c), np.einsum("ij,jk,ki->ij", a, b, c))
    assert equal(kizami.tensordot(a, b, 1), np.tensordot(a, b, 1))


def test_einsum_with_lists(rng):
    a, b = whole(rng, (2, 3, 4), "float64"), whole(rng, (2, 4, 5), "float64")
    for output in ([[0, 7, 9]], [], [[9, 0]]):
        assert equal(kizami.einsum(a, [0, 7, 8], b, [0, 8, 9], *output), np.einsum(a, [0, 7, 8], b, [0, 8, 9], *output))
    assert equal(kizami.einsum(a, [..., 1, 2], b, [..., 2, 3], [..., 1, 3]), np.matmul(a, b))


@pytest.mark.parametrize("subscripts", ["ij,jk->ik", "jk,kl,lm->jm", "ij->", "ij,ij->ij", "ij->ji"])
def test_out(rng, subscripts):
    operands = [whole(rng, shape, "float64") for shape in shapes_of(subscripts)]
    want = np.einsum(subscripts, *operands)
    out = np.full(np.shape(want), np.nan)
    assert kizami.einsum(subscripts, *operands, out=out) is out
    assert same_bits(plain(out), plain(want))
    for bad, error in ((np.zeros((9, 9)), kizami.InvalidArgumentError), (np.zeros(np.shape(want), "float32"), kizami.DTypeError)):
        with pytest.raises(error, match="out"):
            kizami.einsum(subscripts, *operands, out=bad)
    out.flags.writeable = False
    with pytest.raises(kizami.InvalidArgumentError, match="out is read-only"):
        kizami.einsum(subscripts, *operands, out=out)


def test_out_may_be_an_operand(rng):
    a, b = whole(rng, (4, 4), "float64"), whole(rng, (4, 4), "float64")
    want = np.einsum("ij,jk,kl->il", a, b, a)
    assert kizami.einsum("ij,jk,kl->il", a, b, a, out=a) is a and same_bits(plain(a), plain(want))


def test_what_needs_no_product_is_a_view(rng):
    a = whole(rng, (3, 4), "float64")
    view, outcome = kizami.einsum("ij->ji", a, return_outcome=True)
    assert np.shares_memory(view, a) and same_bits(view, a.T) and (outcome.engine, outcome.bound) == ("none", 0.0)


def test_steps_are_products_of_matmul(rng):
    """By the path, each step with the bits of matmul; and in another order with others."""
    a, b, c = (random(rng, shape, "float64") for shape in ((30, 40), (40, 20), (20, 50)))
    got = kizami.einsum("ij,jk,kl->il", a, b, c, optimize=["einsum_path", (0, 1), (0, 1)], policy="bits=40")
    first = kizami.matmul(a, b, policy="bits=40")
    assert same_bits(got, kizami.matmul(c.T, first.T, policy="bits=40").T)
    other = kizami.einsum("ij,jk,kl->il", a, b, c, optimize=["einsum_path", (1, 2), (0, 1)], policy="bits=40")
    assert same_bits(other, kizami.matmul(a, kizami.matmul(b, c, policy="bits=40"), policy="bits=40")) and not same_bits(got, other)


def test_the_path_is_numpys(rng):
    a, b, c = (whole(rng, shape, "float64") for shape in ((2, 60), (60, 3), (3, 90)))
    _, outcome = kizami.einsum("ij,jk,kl->il", a, b, c, return_outcome=True)
    assert len(outcome.products) == 2
    _, outcome = kizami.einsum("ij,kl,jk->il", a, c, b, optimize=False, return_outcome=True)
    assert outcome.products[0].engine == "library"  # from left to right begins with an outer product


def exact_chain(matrices):
    """The product of matrices of fractions, and that of their moduli."""
    def multiply(x, y):
        return [[sum(p * q for p, q in zip(row, col)) for col in zip(*y)] for row in x]

    parts = [[[Fraction(float(v)) for v in row] for row in m] for m in matrices]
    exact, gauge = parts[0], [[abs(v) for v in row] for row in parts[0]]
    for part in parts[1:]:
        exact, gauge = multiply(exact, part), multiply(gauge, [[abs(v) for v in row] for row in part])
    return exact, gauge


def test_the_bound_of_a_chain_holds(rng):
    matrices = [random(rng, shape, "float64", 12) for shape in ((5, 30), (30, 20), (20, 25), (25, 4))]
    exact, gauge = exact_chain(matrices)
    for tolerance in (1e-3, 3e-9, 1e-14):
        c, outcome = kizami.multi_dot(matrices, tolerance=tolerance, return_outcome=True)
        assert outcome.bound <= tolerance < 4.5 * outcome.bound and outcome.gauge == "entry" and len(outcome.products) == 3
        worst = max(abs(Fraction(float(c[i, j])) - exact[i][j]) / gauge[i][j] for i in range(5) for j in range(4))
        assert worst <= Fraction(outcome.bound)
    # The largest error of few bits is not zero: the bound is one of something.
    rough = kizami.multi_dot(matrices, policy=kizami.Policy("bits=8", scheme="ozaki1"))
    assert any(Fraction(float(rough[i, j])) != exact[i][j] for i in range(5) for j in range(4))


def test_the_bound_in_norms_holds(rng):
    matrices = [random(rng, shape, "float64", 12) for shape in ((5, 30), (30, 20), (20, 4))]
    exact, _ = exact_chain(matrices)
    c, outcome = kizami.einsum("ij,jk,kl->il", *matrices, tolerance=kizami.Tolerance(1e-6, "norm"), return_outcome=True)
    assert outcome.gauge == "norm" and outcome.bound <= 1e-6
    error = sum((Fraction(float(c[i, j])) - exact[i][j]) ** 2 for i in range(5) for j in range(4))
    norms = [sum(Fraction(float(v)) ** 2 for v in m.ravel()) for m in matrices]
    assert error <= Fraction(outcome.bound) ** 2 * norms[0] * norms[1] * norms[2]


def test_sums_have_bounds(rng):
    a = random(rng, (6, 200), "float64", 20)
    c, outcome = kizami.einsum("ij->i", a, policy="bits=45", return_outcome=True)
    assert holds(a, np.ones((200, 1)), c[:, None], outcome.bound) and outcome.bound <= 2.0**-45
    correct = kizami.einsum("ij->i", a, policy="correct")
    assert correct.tolist() == [float(sum(Fraction(float(x)) for x in row)) for row in a]


def test_products_of_elements_are_rounded_once(rng):
    a, b = random(rng, (20, 30), "float64", 5), random(rng, (20, 30), "float64", 5)
    c, outcome = kizami.einsum("ij,ij->ij", a, b, return_outcome=True)
    assert same_bits(c, a * b) and (outcome.engine, outcome.bound) == ("library", 2.0**-53)
    x, y = a[:4, :5] + 1j * b[:4, :5], b[4:8, :5] - 1j * a[4:8, :5]
    c, outcome = kizami.einsum("ij,ij->ij", x, y, policy="correct", return_outcome=True)
    for got, p, q in zip(c.ravel(), x.ravel(), y.ravel()):
        (pr, pi), (qr, qi) = ((Fraction(float(v.real)), Fraction(float(v.imag))) for v in (p, q))
        assert got == complex(float(pr * qr - pi * qi), float(pr * qi + pi * qr))
    with pytest.raises(kizami.NonFiniteError):
        kizami.einsum("ij,ij->ij", np.full((1, 1), np.inf), np.ones((1, 1)), policy=kizami.Policy(nonfinite="reject"))


def test_not_finite(rng):
    a, b = random(rng, (3, 4), "float64"), random(rng, (4, 2), "float64")
    a[1, 2] = np.inf
    b[0, 1] = np.nan
    got, want = kizami.einsum("ij,jk->ik", a, b), np.einsum("ij,jk->ik", a, b)
    assert np.array_equal(np.isnan(got), np.isnan(want)) and np.array_equal(got[np.isinf(want)], want[np.isinf(want)])


@pytest.mark.parametrize("call", [
    lambda a: kizami.einsum("ij,jk", a), lambda a: kizami.einsum("ij", a, a), lambda a: kizami.einsum("ijk", a), lambda a: kizami.einsum("i", a),
    lambda a: kizami.einsum("ij->k", a), lambda a: kizami.einsum("ij->ii", a), lambda a: kizami.einsum("i$", a), lambda a: kizami.einsum("ij,jk", a, a.T[:2]),
    lambda a: kizami.einsum("ii", a), lambda a: kizami.einsum("...i->i", a), lambda a: kizami.einsum("i......j", a), lambda a: kizami.einsum("i.j", a),
    lambda a: kizami.einsum(), lambda a: kizami.einsum("ij"), lambda a: kizami.einsum("ij,jk,kl", a, a.T, a, optimize=["einsum_path", (0, 7), (0, 1)]),
    lambda a: kizami.dot(a, a), lambda a: kizami.tensordot(a, a, 1), lambda a: kizami.tensordot(a, a, 3), lambda a: kizami.tensordot(a, a, ([0, 0], [0, 0])),
    lambda a: kizami.tensordot(a, a, ([0], [0, 1])), lambda a: kizami.tensordot(a, a, ([5], [0])), lambda a: kizami.multi_dot([a]),
    lambda a: kizami.multi_dot([a, a]), lambda a: kizami.multi_dot([a, a[0], a]), lambda a: kizami.multi_dot([a, np.ones((4, 2, 2))]),
    lambda a: kizami.vecdot(a, a[:, :3]), lambda a: kizami.matvec(a[0], a[0]), lambda a: kizami.vecmat(a[0], a),
])
def test_what_numpy_refuses_is_refused(call):
    """By NumPy's kind of error, in words of ours."""
    with pytest.raises(kizami.InvalidArgumentError) as caught:
        call(np.ones((3, 4)))
    assert isinstance(caught.value, ValueError) and "must" in str(caught.value)


@pytest.mark.parametrize(("call", "error"), [
    (lambda a: kizami.einsum("ij,jk", a.astype(int), a), "operand 0 is of type int64"), (lambda a: kizami.einsum(a, ["x", "y"]), "list of int"),
    (lambda a: kizami.einsum("ij,jk,kl", a, a.T, a, optimize="swift"), "optimize"), (lambda a: kizami.tensordot(a, a, 1.5), "axes"),
    (lambda a: kizami.dot(a, "x"), "b is of type"), (lambda a: kizami.multi_dot([a, a.T.astype("float16")]), r"arrays\[1\] is of type float16"),
])
def test_types_that_are_refused(call, error):
    with pytest.raises(kizami.DTypeError, match=error):
        call(np.ones((3, 4)))


SHAPES_OF_DOT = [((4,), (4,)), ((3, 4), (4,)), ((4,), (4, 5)), ((3, 4), (4, 5)), ((2, 3, 4), (4,)), ((2, 3, 4), (4, 5)), ((2, 3, 4), (6, 4, 5)), ((4,), (2, 4, 5)),
                 ((), (3, 4)), ((3, 4), ()), ((), ()), ((0,), (0,)), ((3, 0), (0, 2))]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("left", "right"), SHAPES_OF_DOT)
def test_dot(rng, left, right, dtype):
    a, b = whole(rng, left, dtype), whole(rng, right, dtype)
    want = np.dot(a, b)
    assert equal(kizami.dot(a, b), want)
    out = np.zeros(np.shape(want), dtype)
    assert kizami.dot(a, b, out) is out and same_bits(plain(out), plain(want))


def test_dot_with_numbers(rng):
    a = whole(rng, (3, 4), "float32")
    assert equal(kizami.dot(2.0, a), np.dot(np.float32(2), a)) and equal(kizami.dot(a, 2j), a * np.complex64(2j)) and equal(kizami.dot(3, a), 3 * a)


AXES = [0, 1, 2, ([2, 0], [0, 1]), ((1,), (2,)), (1, 2), ([-1, 0], [0, -2])]


@pytest.mark.parametrize("axes", AXES)
@pytest.mark.parametrize("dtype", ["float32", "complex128"])
def test_tensordot(rng, axes, dtype):
    if isinstance(axes, int):
        shapes = ((3, 4, 5), ((), (5,), (4, 5))[axes] + (2, 3))
    else:
        shapes = {2: ((3, 4, 5), (5, 3, 4)), 1: ((3, 4, 5), (5, 3, 4))}[len(np.atleast_1d(axes[0]))]
    a, b = whole(rng, shapes[0], dtype), whole(rng, shapes[1], dtype)
    assert equal(kizami.tensordot(a, b, axes), np.tensordot(a, b, axes))


def test_tensordot_is_one_product(rng):
    a, b = random(rng, (3, 4, 5), "float64"), random(rng, (5, 4, 6), "float64")
    c, outcome = kizami.tensordot(a, b, ([2, 1], [0, 1]), return_outcome=True)
    assert outcome.products == ()
    want = kizami.matmul(a.transpose(0, 2, 1).reshape(3, 20), b.reshape(20, 6))
    assert holds(a.transpose(0, 2, 1).reshape(3, 20), b.reshape(20, 6), c, outcome.bound) and np.allclose(c, want)


def test_multi_dot(rng):
    for shapes in ([(3, 4), (4, 5)], [(3, 40), (40, 2), (2, 30)], [(30, 2), (2, 40), (40, 3), (3, 50), (50, 1)], [(4,), (4, 5), (5,)], [(4,), (4, 5)],
                   [(3, 4), (4,)], [(3, 4), (4, 5), (5,)], [(4,), (4,)], [(3, 0), (0, 4), (4, 2)]):
        arrays = [whole(rng, shape, "float64") for shape in shapes]
        want = np.linalg.multi_dot(arrays)
        assert equal(kizami.multi_dot(arrays), np.float64(want) if np.ndim(want) == 0 else want), shapes
        if np.ndim(want):
            out = np.empty_like(want)
            assert kizami.multi_dot(arrays, out=out) is out and same_bits(plain(out), plain(want))


def test_the_order_of_a_chain_is_the_cheapest():
    def cost(sizes):
        if len(sizes) == 2:
            return 0
        return min(cost(sizes[:s + 1]) + cost(sizes[s:]) + sizes[0] * sizes[s] * sizes[-1] for s in range(1, len(sizes) - 1))

    rng = np.random.default_rng(3)
    for count in range(2, 9):
        sizes = [int(n) for n in rng.integers(1, 50, count + 1)]
        multiplications, path = kizami._linalg.chain_order(sizes)
        assert multiplications == cost(sizes)
        matrices = [(sizes[i], sizes[i + 1]) for i in range(count)]
        spent = 0
        for left, right in path:  # that the path does what the cost says
            (m, k), (rows, n) = matrices[left], matrices[right]
            assert k == rows
            spent += m * k * n
            matrices = [x for i, x in enumerate(matrices) if i not in (left, right)] + [(m, n)]
        assert spent == multiplications and matrices == [(sizes[0], sizes[-1])]


@pytest.mark.skipif(not hasattr(np, "vecmat"), reason="NumPy before 2.2 has no matvec")
@pytest.mark.parametrize("dtype", DTYPES)
def test_stacks_of_vectors(rng, dtype):
    v, w, m = whole(rng, (2, 1, 4), dtype), whole(rng, (3, 4), dtype), whole(rng, (3, 4, 5), dtype)
    assert equal(kizami.vecdot(v, w), np.vecdot(v, w)) and equal(kizami.vecdot(v[0, 0], w[0]), np.vecdot(v[0, 0], w[0]))
    assert equal(kizami.vecmat(v, m), np.vecmat(v, m)) and equal(kizami.matvec(m, whole(rng, (5,), dtype) * 0 + 2), np.matvec(m, np.full(5, 2, dtype)))
    out = np.zeros((2, 3), dtype)
    assert kizami.vecdot(v, w, out) is out and same_bits(plain(out), plain(np.vecdot(v, w)))


def test_arrays_of_the_array_api(rng):
    xp = pytest.importorskip("array_api_strict", reason="needs array-api-strict")
    a, b, c = (whole(rng, shape, "float64") for shape in ((2, 3, 3), (2, 3, 5), (5, 4)))
    x, y, z = (xp.asarray(v) for v in (a, b, c))
    got = kizami.einsum("bii,bij,jk->ki", x, y, z)
    assert type(got) is type(x) and same_bits(plain(np.asarray(got)), plain(np.einsum("bii,bij,jk->ki", a, b, c)))
    assert same_bits(plain(np.asarray(kizami.dot(y, z))), plain(np.dot(b, c))) and same_bits(plain(np.asarray(kizami.vecdot(y, y))), plain(np.vecdot(b, b)))
    with pytest.raises(kizami.DTypeError, match="operand 1 is an array of numpy, must be of array API"):
        kizami.einsum("ij,jk", z, c.T)


def test_tensors_of_torch(rng):
    torch = pytest.importorskip("torch", reason="needs PyTorch")
    a, b = whole(rng, (2, 3, 3), "complex64"), whole(rng, (2, 3, 5), "complex64")
    x, y = torch.from_numpy(a).conj(), torch.from_numpy(b)
    got = kizami.einsum("bii,bij->ji", x, y)
    assert isinstance(got, torch.Tensor) and same_bits(plain(got.resolve_conj().numpy()), plain(np.einsum("bii,bij->ji", a.conj(), b)))
    assert same_bits(plain(kizami.multi_dot([y[0].mT, y[0]]).numpy()), plain(b[0].T @ b[0]))
    out = torch.empty(2, 3, dtype=torch.complex64)
    assert kizami.vecdot(y.mT[:, :3, :], y.mT[:, 1:4, :], out) is out and same_bits(plain(out.numpy()), plain(np.vecdot(b.transpose(0, 2, 1)[:, :3], b.transpose(0, 2, 1)[:, 1:4])))
    with pytest.raises(kizami.DTypeError, match="requires grad"):
        kizami.einsum("ij,jk", torch.ones(2, 2, requires_grad=True), torch.ones(2, 2))
