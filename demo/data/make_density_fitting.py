#!/usr/bin/env python3
"""Density-fitting integrals of a real molecule, as input of the demo.

In density fitting (resolution of the identity) the four-index integrals of
quantum chemistry become a product of small matrices:

    (ia|jb)  ~  sum_PQ (ia|P) [J^-1]_PQ (Q|jb)        J_PQ = (P|Q)

with i, j occupied orbitals, a, b virtual orbitals and P, Q functions of an
auxiliary basis.  J is ill-conditioned (here about 1e9 to 1e10), so J^-1 has
large entries of both signs and the product lives on cancellation: this is
where the digits of a matrix product matter.  Two usual ways to multiply are

    G = (V J^-1) V^T               the metric inverse, a product of three
    G = B B^T with B = V J^-1/2    the symmetric form, milder by its nature

where V is the matrix of (ia|P), one row for each pair ia.  From G and the
orbital energies follows the MP2 correlation energy, a number to compare:

    E = sum_iajb (ia|jb) [2 (ia|jb) - (ib|ja)] / (e_i + e_j - e_a - e_b)

The molecule is hydrogen peroxide, H2O2, in its twisted equilibrium geometry.
It has no mirror plane, so no entry of V vanishes by symmetry; its twofold axis
makes half of the entries of G zero, which come out as rounding noise.  Method:
conventional RHF/aug-cc-pVDZ, then frozen-core DF-MP2 with the automatic
auxiliary basis of Stoychev, Auer and Neese, J. Chem. Theory Comput. 13, 554
(2017), as PySCF generates it (pyscf.df.autoaux).

The committed files were made with PySCF 2.14.0 (pip install pyscf==2.14.0) and
OPENBLAS_NUM_THREADS=1.  Nothing in the project depends on PySCF: only making
the files needs it.  Every choice is fixed here, so a second run on the same
machine gives the same bytes.  Another number of threads or another linear
algebra library changes J^-1/2 by about 1e-8 of its largest entry (its own
conditioning), J^-1 by about 1e-13, and the energies below 1e-10 hartree.

    python3 make_density_fitting.py           make the files (needs PySCF)
    python3 make_density_fitting.py --check   recompute the energy from the
                                              files (needs numpy alone)
"""

import argparse
import hashlib
import json
import os
import sys

import numpy as np

MOLECULE = "hydrogen peroxide"
FORMULA = "H2O2"
# Gas-phase structure (angstrom, degrees): N. N. Greenwood, A. Earnshaw,
# Chemistry of the Elements, 2nd ed., chapter 14.
R_OO, R_OH, A_OOH, D_HOOH = 1.475, 0.950, 94.8, 111.5
GEOMETRY = f"""O
O 1 {R_OO}
H 1 {R_OH} 2 {A_OOH}
H 2 {R_OH} 1 {A_OOH} 3 {D_HOOH}"""
GEOMETRY_SOURCE = (
    "gas-phase structure, Greenwood and Earnshaw, Chemistry of the Elements, "
    f"2nd ed., ch. 14: r(OO) {R_OO} A, r(OH) {R_OH} A, angle(OOH) {A_OOH} deg, "
    f"dihedral(HOOH) {D_HOOH} deg"
)
BASIS = "aug-cc-pvdz"
N_FROZEN = 2  # the two 1s orbitals of oxygen

V_NAME = "density_fitting_three_center.npy"
JINV_NAME = "density_fitting_metric_inverse.npy"
JHALF_NAME = "density_fitting_metric_inverse_sqrt.npy"
EPS_NAME = "density_fitting_orbital_energies.npy"
JSON_NAME = "density_fitting.json"

MEANING = {
    V_NAME: "V[i*n_virtual + a, P] = (ia|P), three-centre Coulomb integrals, hartree "
    "atomic units; i occupied (frozen core left out), a virtual, both by rising energy",
    JINV_NAME: "J^-1, symmetric; J[P, Q] = (P|Q), the Coulomb metric of the auxiliary basis",
    JHALF_NAME: "J^-1/2, symmetric: the power -1/2 of the same metric",
    EPS_NAME: "orbital energies, hartree: the n_occupied correlated occupied ones, "
    "then the n_virtual virtual ones",
}


def mp2_energy(g, eps, n_occ):
    """MP2 correlation energy (total, opposite spin, same spin) from G = (ia|jb)."""
    g = np.asarray(g)
    if g.dtype == np.float32:  # the sum itself is never the weak point
        g = g.astype(np.float64)
    e_occ, e_vir = eps[:n_occ], eps[n_occ:]
    iajb = g.reshape(n_occ, e_vir.size, n_occ, e_vir.size)
    pair = e_occ[:, None] - e_vir[None, :]
    scaled = iajb / (pair[:, :, None, None] + pair[None, None, :, :])
    opposite = np.sum(scaled * iajb)
    exchange = np.sum(scaled * iajb.transpose(0, 3, 2, 1))
    return 2 * opposite - exchange, opposite, opposite - exchange


def energies_by_product(v, j_inv, j_half, eps, n_occ):
    """The MP2 energy by both products, in long double, float64 and float32."""
    out = {}
    types = {"extended": np.longdouble, "float64": np.float64, "float32": np.float32}
    for name, dtype in types.items():
        v_, inv_, half_ = (x.astype(dtype) for x in (v, j_inv, j_half))
        b = v_ @ half_
        out[name] = (
            float(mp2_energy((v_ @ inv_) @ v_.T, eps, n_occ)[0]),
            float(mp2_energy(b @ b.T, eps, n_occ)[0]),
        )
    return out


def spread_bits(a):
    """log2(largest / smallest nonzero magnitude): median row, widest row, whole array."""
    mag = np.abs(a)
    low = np.where(mag > 0, mag, np.inf)
    rows = np.log2(mag.max(axis=1) / low.min(axis=1))
    return {
        "row_median": round(float(np.median(rows)), 1),
        "row_max": round(float(rows.max()), 1),
        "array": round(float(np.log2(mag.max() / low.min())), 1),
        "exact_zeros": int(np.count_nonzero(mag == 0)),
    }


def inverse(j, x):
    """The inverse of symmetric j by Newton steps from x, in long double, then rounded.

    The usual float64 inverse is off by enough to move the energy by some 1e-10
    hartree; this one keeps the effect at that of rounding J^-1 to float64.
    """
    j, x = j.astype(np.longdouble), x.astype(np.longdouble)
    for _ in range(4):
        x = x + x @ (np.eye(len(j)) - j @ x)
    return ((x + x.T) / 2).astype(np.float64)


def sha256(path):
    with open(path, "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()


def make(out_dir):
    import pyscf
    from pyscf import df, gto, mp, scf
    from pyscf.mp import dfmp2

    pyscf.lib.num_threads(1)  # one order of summation
    mol = gto.M(atom=GEOMETRY, basis=BASIS, unit="Angstrom", verbose=0)
    mf = scf.RHF(mol)
    mf.conv_tol, mf.conv_tol_grad = 1e-13, 1e-9
    mf.kernel()
    if not mf.converged:
        sys.exit("RHF did not converge")

    # An orbital's sign is arbitrary: make its largest coefficient positive.
    c = mf.mo_coeff
    c = c * np.sign(c[np.abs(c).argmax(axis=0), np.arange(c.shape[1])])
    mf.mo_coeff = c

    # PySCF's own answers: with density fitting (the reference) and without.
    aux_basis = df.autoaux(mol)
    ref = dfmp2.DFMP2(mf, frozen=N_FROZEN)
    ref.with_df = df.DF(mol, auxbasis=aux_basis)
    ref.kernel()
    no_df = mp.MP2(mf, frozen=N_FROZEN)
    no_df.kernel()

    # The matrices.
    n_all = mol.nelectron // 2
    n_occ, n_vir = n_all - N_FROZEN, c.shape[1] - n_all
    aux = df.addons.make_auxmol(mol, aux_basis)
    ao = df.incore.aux_e2(mol, aux, "int3c2e")
    v = np.einsum("mnP,mi,na->iaP", ao, c[:, N_FROZEN:n_all], c[:, n_all:], optimize=True)
    v = v.reshape(n_occ * n_vir, -1)
    j = aux.intor("int2c2e")
    w, u = np.linalg.eigh((j + j.T) / 2)
    j_inv, j_half = inverse(j, (u / w) @ u.T), (u / np.sqrt(w)) @ u.T
    j_half = (j_half + j_half.T) / 2
    eps = mf.mo_energy[N_FROZEN:]

    arrays = {V_NAME: v, JINV_NAME: j_inv, JHALF_NAME: j_half, EPS_NAME: eps}
    files = {}
    for name, a in arrays.items():
        path = os.path.join(out_dir, name)
        np.save(path, np.ascontiguousarray(a, dtype="<f8"))
        files[name] = {
            "meaning": MEANING[name],
            "shape": list(a.shape),
            "dtype": "<f8, C order",
            "sha256": sha256(path),
        }
        if a.ndim == 2:
            files[name]["spread_bits"] = spread_bits(a)

    got = energies_by_product(v, j_inv, j_half, eps, n_occ)
    exact = got["extended"]
    info = {
        "molecule": MOLECULE,
        "formula": FORMULA,
        "geometry": GEOMETRY_SOURCE,
        "geometry_bohr": [
            mol.atom_symbol(k) + "".join(f" {x:.10f}" for x in mol.atom_coord(k))
            for k in range(mol.natm)
        ],
        "method": "RHF, then frozen-core DF-MP2",
        "basis": BASIS,
        "auxiliary_basis": "AutoAux (Stoychev, Auer, Neese 2017), pyscf.df.autoaux",
        "pyscf_version": pyscf.__version__,
        "n_frozen": N_FROZEN,
        "n_occupied": n_occ,
        "n_virtual": n_vir,
        "n_pairs": n_occ * n_vir,
        "n_auxiliary": int(v.shape[1]),
        "symmetry": "C2: no entry of V vanishes, half of the entries of G are zero up to rounding",
        "metric_condition_number": float(f"{w[-1] / w[0]:.3g}"),
        "files": files,
        "products": {
            "metric_inverse": "G = (V @ Jinv) @ V.T",
            "metric_inverse_sqrt": "B = V @ Jhalf; G = B @ B.T",
            "mp2": "no = n_occupied; nv = n_virtual; eo, ev = eps[:no], eps[no:]; "
            "I = G.reshape(no, nv, no, nv); "
            "D = eo[:,None,None,None] - ev[None,:,None,None] "
            "+ eo[None,None,:,None] - ev[None,None,None,:]; "
            "E = sum(I * (2*I - I.transpose(0, 3, 2, 1)) / D)",
        },
        "energies_hartree": {
            "mp2_correlation": float(ref.e_corr),
            "mp2_correlation_source": "PySCF DF-MP2, float64",
            "mp2_correlation_without_density_fitting": float(no_df.e_corr),
            "rhf_total": float(mf.e_tot),
        },
        "mp2_error_hartree": {
            "note": "numpy minus mp2_correlation; 'extended' (long double) is the product of the "
            "stored matrices without visible rounding; the float32 values depend on the "
            "order of summation and are only an indication",
            **{
                f"{prec}_{route}": float(f"{val - float(ref.e_corr):.2e}")
                for prec, pair in got.items()
                for route, val in zip(("metric_inverse", "metric_inverse_sqrt"), pair)
            },
        },
        "scale_hartree": {
            "chemical_accuracy": 1.6e-3,
            "trans_torsional_barrier": 1.76e-3,
            "trans_torsional_barrier_source": "386 cm^-1, Hunt, Leacock, Peters, Hecht, "
            "J. Chem. Phys. 42, 1931 (1965)",
        },
    }
    if abs(exact[0] - ref.e_corr) > 1e-9 or abs(exact[1] - ref.e_corr) > 1e-9:
        sys.exit("the matrices do not give PySCF's energy")
    with open(os.path.join(out_dir, JSON_NAME), "w", encoding="ascii") as f:
        json.dump(info, f, indent=2)
        f.write("\n")


def check(out_dir):
    with open(os.path.join(out_dir, JSON_NAME), encoding="ascii") as f:
        info = json.load(f)
    arrays = []
    for name in (V_NAME, JINV_NAME, JHALF_NAME, EPS_NAME):
        path = os.path.join(out_dir, name)
        a = np.load(path)
        entry = info["files"][name]
        if list(a.shape) != entry["shape"] or a.dtype != np.float64 or not a.flags.c_contiguous:
            sys.exit(f"{name}: not the shape, type or order that {JSON_NAME} states")
        if sha256(path) != entry["sha256"]:
            sys.exit(f"{name}: not the file that {JSON_NAME} states")
        arrays.append(a)
        print(f"{name:44s} {str(a.shape):11s} {os.path.getsize(path):8d} bytes", end="")
        if a.ndim == 2:
            s = spread_bits(a)
            print(f"  bits/row {s['row_median']} (median) {s['row_max']} (max)", end="")
        print()
    v, j_inv, j_half, eps = arrays
    ref = info["energies_hartree"]["mp2_correlation"]
    print(f"\nMP2 correlation energy, PySCF {info['pyscf_version']}: {ref:.12f} hartree")
    got = energies_by_product(v, j_inv, j_half, eps, info["n_occupied"])
    print(f"{'numpy':10s} {'(V Jinv) V^T':>16s} {'error':>10s} {'B B^T':>16s} {'error':>10s}")
    for prec, (e1, e2) in got.items():
        print(f"{prec:10s} {e1:16.12f} {e1 - ref:10.1e} {e2:16.12f} {e2 - ref:10.1e}")
    if max(abs(e - ref) for e in got["float64"]) > 1e-9:
        sys.exit("float64 does not agree with PySCF to 1e-9 hartree")


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--out", default=here, metavar="DIR", help="folder of the files (default: the script's own)"
    )
    parser.add_argument(
        "--check", action="store_true", help="check the files instead of making them (no PySCF)"
    )
    args = parser.parse_args()
    if not args.check:
        os.makedirs(args.out, exist_ok=True)
        make(args.out)
    check(args.out)


if __name__ == "__main__":
    main()
