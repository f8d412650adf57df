# SPDX-License-Identifier: MIT
"""kizami.jax: the product as a primitive, compiled, mapped, differentiated, and on a mesh of four devices of the host."""
import doctest
import os

import numpy as np
import pytest
from conftest import same_bits

os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=4"
os.environ["JAX_PLATFORMS"] = "cpu"
jax = pytest.importorskip("jax", reason="JAX is not installed")
import jax.numpy as jnp  # noqa: E402

import kizami  # noqa: E402
import kizami.jax as kj  # noqa: E402

if not os.path.exists(os.path.join(os.path.dirname(kj.__file__), "_jax_calls.so")):
    pytest.skip("the foreign calls were built without the headers of jaxlib", allow_module_level=True)
jax.config.update("jax_enable_x64", True)

TYPES = ["float32", "float64", "complex64", "complex128"]


def random(seed, shape, dtype="float64"):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * rng.standard_normal(shape)
    return x.astype(dtype)


def graded(seed, shape, axis, bits):
    """Elements that rise along an axis: of several rows a higher rung, of some blocks of them a lower one."""
    rise = np.exp2(np.linspace(0, bits, shape[axis]))
    return random(seed, shape) * np.expand_dims(rise, 1 - axis)


@pytest.mark.parametrize("dtype", TYPES)
def test_bits_are_those_of_matmul(dtype):
    a, b = random(1, (33, 50), dtype), random(2, (50, 21), dtype)
    for policy in (None, kizami.Policy("bits=20"), kizami.Policy(gauge="norm")):
        want = kizami.matmul(a, b, policy=policy)
        assert same_bits(kj.matmul(a, b, policy=policy), want)
        assert same_bits(jax.jit(lambda x, y, policy=policy: kj.matmul(x, y, policy=policy))(a, b), want)


def test_the_policy_is_in_the_program():
    a, b = random(1, (40, 60)), random(2, (60, 40))
    coarse = jax.jit(lambda x, y: kj.matmul(x, y, policy=kizami.Policy("bits=10")))(a, b)
    assert not same_bits(coarse, kj.matmul(a, b))
    assert 0 < np.abs(coarse - a @ b).max() < 2.0**-9 * (np.abs(a) @ np.abs(b)).max()
    assert "accuracy=bits=10" in str(jax.make_jaxpr(lambda x, y: kj.matmul(x, y, policy=kizami.Policy("bits=10")))(a, b))


def test_shapes_are_those_of_numpy():
    for x, y in (((5,), (5,)), ((5,), (5, 3)), ((4, 5), (5,)), ((2, 1, 4, 5), (3, 5, 2)), ((0, 5), (5, 3)), ((4, 0), (0, 3))):
        a, b = random(1, x), random(2, y)
        np.testing.assert_allclose(kj.matmul(a, b), np.matmul(a, b), rtol=1e-13, atol=1e-13)
    assert kj.matmul(random(1, (2, 3), "float32"), random(2, (3, 2), "complex128")).dtype == np.complex128


def test_what_does_not_fit_is_refused():
    with pytest.raises(kizami.InvalidArgumentError, match="b has 4 rows, must be the columns of a = 3"):
        kj.matmul(random(1, (2, 3)), random(2, (4, 5)))
    with pytest.raises(kizami.InvalidArgumentError, match="of type int64 and int64, must be float32"):
        kj.matmul(np.ones((2, 2), int), np.ones((2, 2), int))
    with pytest.raises(Exception, match="bits = 60"):
        kj.matmul(random(1, (2, 2)), random(2, (2, 2)), policy=kizami.Policy("bits=60"))


def test_vmap():
    stack, b = random(1, (3, 6, 5)), random(2, (5, 7))
    want = np.stack([kizami.matmul(a, b) for a in stack])
    assert same_bits(jax.vmap(kj.matmul, (0, None))(stack, b), want)
    assert same_bits(jax.jit(jax.vmap(kj.matmul, (1, None), 1))(np.moveaxis(stack, 0, 1), b), np.moveaxis(want, 0, 1))
    both = jax.vmap(jax.vmap(kj.matmul, (None, 0)), (0, None))(stack, random(3, (2, 5, 4)))
    assert both.shape == (3, 2, 6, 4)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_derivatives(dtype):
    a, b = random(1, (4, 5), dtype), random(2, (5, 3), dtype)

    def loss(product):
        return lambda x, y: jnp.sum(jnp.abs(jnp.sin(product(x, y))) ** 2)

    for derivative in (lambda f: jax.grad(f, (0, 1)), lambda f: jax.jit(jax.grad(f, (0, 1))), lambda f: lambda x, y: jax.jvp(f, (x, y), (y.T[:1].repeat(4, 0), x.T[:, :3]))):
        for mine, theirs in zip(jax.tree.leaves(derivative(loss(kj.matmul))(a, b)), jax.tree.leaves(derivative(loss(jnp.matmul))(a, b)), strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-11, atol=1e-11)
    if dtype == "float64":
        np.testing.assert_allclose(jax.hessian(loss(kj.matmul))(a, b), jax.hessian(loss(jnp.matmul))(a, b), rtol=1e-10, atol=1e-10)
        policy = kizami.Policy("bits=10")
        text = str(jax.make_jaxpr(jax.grad(lambda x: kj.matmul(x, b, policy=policy).sum()))(a))
        assert text.count("accuracy=bits=10") >= 1


MESHES = [(4, 1), (1, 4), (2, 2)]


def mesh_of(shape):
    return jax.sharding.Mesh(np.array(jax.devices()).reshape(shape), ("x", "y"))


@pytest.mark.parametrize("shape", MESHES)
def test_every_mesh_has_the_bits_of_one_device(shape):
    policy = kizami.Policy(gauge="norm")
    mesh = mesh_of(shape)
    shared = jax.jit(jax.shard_map(lambda x, y: kj.matmul(x, y, policy=policy), mesh=mesh, in_specs=(jax.P("x", None), jax.P(None, "y")),
                                   out_specs=jax.P("x", "y")))
    for a, b in ((random(1, (64, 96)), random(2, (96, 40))), (graded(1, (64, 96), 0, 60), graded(2, (96, 40), 1, 60))):
        assert same_bits(shared(a, b), kizami.matmul(a, b, policy=policy))


@pytest.mark.parametrize("shape", MESHES)
def test_jit_of_cut_operands_has_the_bits_of_one_device(shape):
    mesh = mesh_of(shape)
    a, b = graded(1, (64, 96), 1, 60), graded(2, (96, 40), 0, -60)
    put = [jax.device_put(x, jax.NamedSharding(mesh, spec)) for x, spec in ((a, jax.P("x", "y")), (b, jax.P("y", "x")))]
    assert same_bits(jax.jit(kj.matmul)(*put), kizami.matmul(a, b))


def test_derivatives_in_a_mesh():
    mesh = mesh_of((2, 2))
    shared = jax.shard_map(kj.matmul, mesh=mesh, in_specs=(jax.P("x", None), jax.P(None, "y")), out_specs=jax.P("x", "y"))
    a, b = random(1, (8, 5)), random(2, (5, 12))
    mine = jax.jit(jax.grad(lambda x, y: jnp.sin(shared(x, y)).sum(), (0, 1)))(a, b)
    theirs = jax.grad(lambda x, y: jnp.sin(x @ y).sum(), (0, 1))(a, b)
    for x, y in zip(mine, theirs, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-12)


def test_docstrings():
    result = doctest.testmod(kj)
    assert result.attempted > 2 and not result.failed
