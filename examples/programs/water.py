# SPDX-License-Identifier: MIT
"""Energies of a water molecule by PySCF, in Hartree: restricted Hartree-Fock with density fitting, MP2 and CCSD in basis cc-pVDZ."""
from pyscf import cc, gto, mp, scf

molecule = gto.M(atom="O 0 0 0.1174; H 0 0.7572 -0.4696; H 0 -0.7572 -0.4696", basis="cc-pvdz", verbose=0)
field = scf.RHF(molecule).density_fit().set(conv_tol=1e-11).run()
print("RHF", repr(float(field.e_tot)))
print("MP2", repr(float(mp.MP2(field).run().e_tot)))
print("CCSD", repr(float(cc.CCSD(field).set(conv_tol=1e-9).run().e_tot)))
