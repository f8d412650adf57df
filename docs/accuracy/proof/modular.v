(* SPDX-License-Identifier: MIT *)
(* Integers of scheme ozaki2: the Chinese remainder theorem for the moduli of src/num/moduli.hpp, symmetric residues and their reduction
   (src/num/modular.hpp), and the sum that a scaled pair of lines keeps to. moduli.v is written from moduli.hpp by prove.py. *)
From Coq Require Import ZArith Znumtheory List Lia Bool.
Import ListNotations.
Require Import moduli.
Open Scope Z_scope.

(* ---- Pairwise coprime moduli: what is divisible by each is divisible by the product. ---- *)
Definition product (ps : list Z) : Z := fold_right Z.mul 1 ps.

Fixpoint pairwise_coprime (ps : list Z) : Prop :=
  match ps with
  | [] => True
  | p :: rest => Forall (rel_prime p) rest /\ pairwise_coprime rest
  end.

Lemma coprime_to_product p ps : Forall (rel_prime p) ps -> rel_prime p (product ps).
Proof.
  induction 1 as [|q rest Hq _ IH]; simpl.
  - apply rel_prime_sym, rel_prime_1.
  - apply rel_prime_mult; assumption.
Qed.

Theorem divides_product ps x : pairwise_coprime ps -> Forall (fun p => (p | x)) ps -> (product ps | x).
Proof.
  induction ps as [|p rest IH]; simpl; intros Hco Hdiv.
  - exists x. lia.
  - destruct Hco as [Hp Hrest]. inversion Hdiv as [|? ? Hpx Hall]; subst.
    destruct (IH Hrest Hall) as [q Hq]. subst x.
    assert (Hpq : (p | q)).
    { apply Gauss with (product rest).
      - rewrite Z.mul_comm. assumption.
      - apply coprime_to_product. assumption. }
    destruct Hpq as [r ->]. exists r. ring.
Qed.

(* Two integers of magnitude at most (P - 1) / 2 with the same residues are one. *)
Theorem crt_unique ps x y :
  pairwise_coprime ps -> Forall (fun p => (p | x - y)) ps ->
  2 * Z.abs x <= product ps - 1 -> 2 * Z.abs y <= product ps - 1 -> x = y.
Proof.
  intros Hco Hdiv Hx Hy. destruct (divides_product _ _ Hco Hdiv) as [q Hq].
  assert (q = 0) by nia. lia.
Qed.

(* Reconstruction: with weights w_l = 1 (mod p_l), 0 (mod the others), sum w_l r_l has the residues r_l. *)
Fixpoint dot (xs ys : list Z) : Z :=
  match xs, ys with x :: xs', y :: ys' => x * y + dot xs' ys' | _, _ => 0 end.

Lemma dot_modulo p ws rs : Forall (fun w => (p | w)) ws -> (p | dot ws rs).
Proof.
  intros H. revert rs. induction H as [|w ws Hw _ IH]; intros [|r rs]; simpl; try apply Z.divide_0_r.
  apply Z.divide_add_r; [apply Z.divide_mul_l; assumption | apply IH].
Qed.

Theorem reconstruction p before w after rs_before r rs_after :
  length before = length rs_before ->
  Forall (fun v => (p | v)) before -> Forall (fun v => (p | v)) after -> (p | w - 1) ->
  (p | dot (before ++ w :: after) (rs_before ++ r :: rs_after) - r).
Proof.
  intros Hlen Hb Ha Hw. revert rs_before Hlen. induction Hb as [|v before Hv Hb IH]; intros [|s rs] Hlen; simpl in *; try discriminate.
  - replace (w * r + dot after rs_after - r) with ((w - 1) * r + dot after rs_after) by ring.
    apply Z.divide_add_r; [apply Z.divide_mul_l; assumption | apply dot_modulo; assumption].
  - specialize (IH rs ltac:(lia)).
    replace (v * s + dot (before ++ w :: after) (rs ++ r :: rs_after) - r)
      with (v * s + (dot (before ++ w :: after) (rs ++ r :: rs_after) - r)) by ring.
    apply Z.divide_add_r; [apply Z.divide_mul_l; assumption | exact IH].
Qed.

(* ---- The moduli of the library. ---- *)
Fixpoint coprime_check (ps : list Z) : bool :=
  match ps with [] => true | p :: rest => forallb (fun q => Z.gcd p q =? 1) rest && coprime_check rest end.

Lemma coprime_check_sound ps : coprime_check ps = true -> pairwise_coprime ps.
Proof.
  induction ps as [|p rest IH]; simpl; auto. intros H. apply andb_prop in H as [H1 H2]. split; auto.
  rewrite forallb_forall in H1. apply Forall_forall. intros q Hq. apply Zgcd_1_rel_prime, Z.eqb_eq, H1, Hq.
Qed.

Theorem real_moduli_coprime : pairwise_coprime real_moduli.
Proof. apply coprime_check_sound. vm_compute. reflexivity. Qed.
Theorem complex_moduli_coprime : pairwise_coprime complex_moduli.
Proof. apply coprime_check_sound. vm_compute. reflexivity. Qed.

(* Any first N of them are, so that every plan's are. *)
Lemma firstn_coprime n ps : pairwise_coprime ps -> pairwise_coprime (firstn n ps).
Proof.
  revert n. induction ps as [|p rest IH]; intros [|n]; simpl; auto. intros [H1 H2]. split; [|apply IH; assumption].
  rewrite Forall_forall in *. intros q Hq. apply H1. rewrite <- (firstn_skipn n rest). apply in_or_app. auto.
Qed.

(* Six limbs of 64 bits hold all constants, and twice P: src/num/crt.hpp, kCrtLimbs. *)
Theorem limbs_suffice : product real_moduli < 2 ^ 342 /\ 2 * product real_moduli < 2 ^ 384 /\ product complex_moduli < 2 ^ 342.
Proof. repeat split; vm_compute; reflexivity. Qed.

(* Every modulus is one of 2..256, those that take two products for a complex one have a square root of -1. *)
Theorem moduli_range : Forall (fun p => 2 <= p <= 256) (real_moduli ++ complex_moduli).
Proof.
  apply Forall_forall. intros p Hp.
  assert (H : forallb (fun p => (2 <=? p) && (p <=? 256)) (real_moduli ++ complex_moduli) = true) by (vm_compute; reflexivity).
  rewrite forallb_forall in H. specialize (H p Hp). apply andb_prop in H as [H1 H2]. lia.
Qed.

(* ---- Symmetric residues. ---- *)
Definition lowest (p : Z) : Z := - (p / 2).
Definition highest (p : Z) : Z := (p + 1) / 2 - 1.
Definition is_residue (p x r : Z) : Prop := (p | x - r) /\ lowest p <= r <= highest p.

Theorem residue_unique p x r s : 2 <= p -> is_residue p x r -> is_residue p x s -> r = s.
Proof.
  unfold is_residue, lowest, highest. intros Hp [[a Ha] Hr] [[b Hb] Hs].
  assert (r - s = (b - a) * p) by lia. assert (b - a = 0) by (Z.to_euclidean_division_equations; nia). nia.
Qed.

Theorem residue_is_a_byte p r : 2 <= p <= 256 -> lowest p <= r <= highest p -> -128 <= r <= 127.
Proof. unfold lowest, highest. intros. Z.to_euclidean_division_equations. lia. Qed.

(* symmetric_residue(): x % p of C++ is Z.rem. *)
Definition corrected (p r : Z) : Z :=
  let r := if r <? lowest p then r + p else r in if r >? highest p then r - p else r.

Lemma corrected_is_residue p x r :
  2 <= p -> (p | x - r) -> lowest p - p <= r <= highest p + p -> is_residue p x (corrected p r).
Proof.
  unfold is_residue, corrected, lowest, highest. intros Hp [q Hq] Hr.
  destruct (r <? - (p / 2)) eqn:E1; destruct (_ >? (p + 1) / 2 - 1) eqn:E2;
    rewrite ?Z.ltb_lt, ?Z.ltb_ge in *; rewrite ?Z.gtb_lt, ?Z.gtb_ltb, ?Z.ltb_lt, ?Z.ltb_ge in *;
    (split; [| Z.to_euclidean_division_equations; lia]).
  - exists q. lia.
  - exists (q - 1). lia.
  - exists (q + 1). lia.
  - exists q. lia.
Qed.

Theorem symmetric_residue_correct p x : 2 <= p <= 256 -> is_residue p x (corrected p (Z.rem x p)).
Proof.
  intros Hp. apply corrected_is_residue; [lia | |].
  - exists (Z.quot x p). pose proof (Z.quot_rem x p). lia.
  - pose proof (Z.rem_bound_abs x p). unfold lowest, highest. Z.to_euclidean_division_equations. lia.
Qed.

(* ---- reduce_i32(): the residue of an INT32 accumulator without division. Shifts to the right of negative numbers are floors. ---- *)
Definition multiplier (p : Z) : Z := ((if p >? 128 then 2 ^ 38 else 2 ^ 37) + p / 2) / p.
Definition quotient (p x : Z) : Z :=
  let high := (x * multiplier p) / 2 ^ 32 in if p >? 128 then (high + 32) / 2 ^ 6 else (high + 16) / 2 ^ 5.

Definition i32 (x : Z) : Prop := - 2 ^ 31 <= x < 2 ^ 31.

(* Of one modulus: no intermediate leaves its type, and the difference, which the code forms modulo 2^32, is within one modulus of a residue. *)
Definition reduces (p : Z) : Prop := forall x, i32 x ->
  i32 (multiplier p) /\ i32 ((x * multiplier p) / 2 ^ 32 + 32) /\ i32 (x - p * quotient p x) /\
  lowest p - p <= x - p * quotient p x <= highest p + p.

(* With M p = c + e, |e| <= p / 2, c = 2^32 s: the quotient is off by less than one half and |x e| / c. *)
Lemma reduction c s p x m h q :
  0 < s -> c = 2 ^ 32 * s -> 2 ^ 37 <= c -> 65 <= p <= 256 -> i32 x -> m = (c + p / 2) / p -> h = (x * m) / 2 ^ 32 ->
  (c = 2 ^ 38 \/ p <= 128) -> q = (h + s / 2) / s -> s mod 2 = 0 -> lowest p - p <= x - p * q <= highest p + p.
Proof.
  unfold i32, lowest, highest. change (2 ^ 31) with 2147483648. change (2 ^ 32) with 4294967296. change (2 ^ 37) with 137438953472.
  change (2 ^ 38) with 274877906944. intros Hs Hc Hc37 Hp Hx Hm Hh Hwide Hq Heven.
  assert (He : exists e, m * p = c + e /\ - 128 <= e <= 128 /\ (c = 274877906944 \/ -64 <= e <= 64)).
  { exists (m * p - c). pose proof (Z.div_mod (c + p / 2) p ltac:(lia)). pose proof (Z.mod_pos_bound (c + p / 2) p ltac:(lia)).
    pose proof (Z.div_mod p 2 ltac:(lia)). pose proof (Z.mod_pos_bound p 2 ltac:(lia)). nia. }
  destruct He as (e & Hmp & He & Hnarrow).
  assert (Hh1 : 4294967296 * h <= x * m < 4294967296 * (h + 1)).
  { subst h. pose proof (Z.div_mod (x * m) 4294967296 ltac:(lia)). pose proof (Z.mod_pos_bound (x * m) 4294967296 ltac:(lia)). lia. }
  assert (Hhalf : s = 2 * (s / 2)). { pose proof (Z.div_mod s 2 ltac:(lia)). lia. }
  assert (Hq1 : s * q <= h + s / 2 < s * q + s).
  { subst q. pose proof (Z.div_mod (h + s / 2) s ltac:(lia)). pose proof (Z.mod_pos_bound (h + s / 2) s ltac:(lia)). lia. }
  clear Hm Hh Hq.
  assert (Hxe : - c <= x * e <= c). { destruct Hnarrow; nia. }
  assert (Hlow : 4294967296 * h * p <= x * c + x * e). { replace (x * c + x * e) with (x * m * p) by (rewrite <- Z.mul_assoc, Hmp; ring). nia. }
  assert (Hhigh : x * c + x * e < 4294967296 * (h + 1) * p). { replace (x * c + x * e) with (x * m * p) by (rewrite <- Z.mul_assoc, Hmp; ring). nia. }
  set (t := s / 2) in *. clearbody t. subst s.
  assert (L1 : 2 * t * q * p <= (h + t) * p) by nia.
  assert (L2 : (h + 1) * p <= (2 * t * q + t) * p) by nia.
  assert (Lower : - (t * p) * 4294967296 - c <= c * (x - p * q)) by nia.
  assert (Upper : c * (x - p * q) < t * p * 4294967296 + c) by nia.
  assert (0 < t) by lia.
  assert (B1 : - p - 2 <= 2 * (x - p * q)) by nia.
  assert (B2 : 2 * (x - p * q) < p + 2) by nia.
  pose proof (Z.div_mod p 2 ltac:(lia)). pose proof (Z.mod_pos_bound p 2 ltac:(lia)).
  pose proof (Z.div_mod (p + 1) 2 ltac:(lia)). pose proof (Z.mod_pos_bound (p + 1) 2 ltac:(lia)). lia.
Qed.

Lemma multiplier_range p : 65 <= p <= 256 -> p <> 128 -> 0 <= multiplier p < 2 ^ 31.
Proof.
  intros Hp Hne. unfold multiplier. destruct (p >? 128) eqn:E.
  - apply Z.gtb_lt in E. split; [apply Z.div_pos; [|lia] | apply Z.div_lt_upper_bound; [lia|]];
      pose proof (Z.div_mod p 2 ltac:(lia)); pose proof (Z.mod_pos_bound p 2 ltac:(lia)); lia.
  - split; [apply Z.div_pos; [|lia] | apply Z.div_lt_upper_bound; [lia|]];
      pose proof (Z.div_mod p 2 ltac:(lia)); pose proof (Z.mod_pos_bound p 2 ltac:(lia)); lia.
Qed.

Theorem reduction_range p : 65 <= p <= 256 -> p <> 128 -> reduces p.
Proof.
  intros Hp Hne x Hx. pose proof (multiplier_range p Hp Hne) as Hm.
  assert (Hr : lowest p - p <= x - p * quotient p x <= highest p + p).
  { unfold quotient. destruct (p >? 128) eqn:E.
    - refine (reduction (2 ^ 38) 64 p x _ _ _ _ _ _ Hp Hx _ eq_refl _ _ _); try reflexivity; try lia. unfold multiplier. rewrite E. reflexivity.
    - rewrite Z.gtb_ltb, Z.ltb_ge in E.
      refine (reduction (2 ^ 37) 32 p x _ _ _ _ _ _ Hp Hx _ eq_refl _ _ _); try reflexivity; try lia. unfold multiplier.
      replace (p >? 128) with false by (symmetry; rewrite Z.gtb_ltb, Z.ltb_ge; assumption). reflexivity. }
  repeat split; try lia.
  - unfold i32 in *. change (2 ^ 32) with (2 * 2 ^ 31). enough (- 2 ^ 31 <= x * multiplier p / (2 * 2 ^ 31)) by lia.
    apply Z.div_le_lower_bound; [lia|]. nia.
  - unfold i32 in *. enough (x * multiplier p / 2 ^ 32 < 2 ^ 31 - 32) by lia. apply Z.div_lt_upper_bound; [lia|]. nia.
  - unfold lowest in Hr. pose proof (Z.div_mod p 2 ltac:(lia)). pose proof (Z.mod_pos_bound p 2 ltac:(lia)). lia.
  - unfold highest in Hr. pose proof (Z.div_mod (p + 1) 2 ltac:(lia)). pose proof (Z.mod_pos_bound (p + 1) 2 ltac:(lia)). lia.
Qed.

Theorem reduce_i32_correct p x : 65 <= p <= 256 -> p <> 128 -> i32 x -> is_residue p x (corrected p (x - p * quotient p x)).
Proof.
  intros Hp Hne Hx. destruct (reduction_range p Hp Hne x Hx) as (_ & _ & _ & Hr).
  apply corrected_is_residue; [lia | exists (quotient p x); lia | assumption].
Qed.

(* ---- Sums of products of scaled lines: squares of norms that are at most H keep the sum within H (Cauchy and Schwarz, in integers). ---- *)
Theorem sum_within_limit xs ys limit : dot xs xs <= limit -> dot ys ys <= limit -> length xs = length ys -> Z.abs (dot xs ys) <= limit.
Proof.
  intros Hx Hy Hlen.
  assert (H : forall us vs, length us = length vs -> 2 * Z.abs (dot us vs) <= dot us us + dot vs vs).
  { induction us as [|u us IH]; intros [|v vs]; cbn [dot length]; try discriminate. intros E. injection E as E. specialize (IH vs E).
    pose proof (Z.square_nonneg (u - v)). pose proof (Z.square_nonneg (u + v)). nia. }
  specialize (H xs ys Hlen). lia.
Qed.

(* ---- Digits and complex sums of the certificate. ---- *)
(* Theorem 2: a sampled digit, cut with d bits fewer, is at most the digit of its block. floor(y 2^-d) 2^d <= floor(y), y = n / s. *)
Theorem coarser_floor n s d : 0 < s -> 0 <= d -> (n / (s * 2 ^ d)) * 2 ^ d <= n / s.
Proof.
  intros Hs Hd. assert (0 < 2 ^ d) by (apply Z.pow_pos_nonneg; lia).
  rewrite <- Z.div_div by lia. rewrite Z.mul_comm. apply Z.mul_div_le. assumption.
Qed.

(* Complex lines: P = sum (r + s)(r' + s'), M = sum (r - s)(r' - s') give twice both parts. *)
Fixpoint zip (f : Z -> Z -> Z) (xs ys : list Z) : list Z :=
  match xs, ys with x :: xs', y :: ys' => f x y :: zip f xs' ys' | _, _ => [] end.

Theorem complex_sums r s r' s' :
  length r = length s -> length r' = length s' -> length r = length r' ->
  dot (zip Z.add r s) (zip Z.add r' s') + dot (zip Z.sub r s) (zip Z.sub r' s') = 2 * (dot r r' + dot s s') /\
  dot (zip Z.add r s) (zip Z.add r' s') - dot (zip Z.sub r s) (zip Z.sub r' s') = 2 * (dot r s' + dot s r').
Proof.
  revert s r' s'. induction r as [|a r IH]; intros [|b s] [|a' r'] [|b' s']; cbn [dot zip length]; try discriminate; intros H1 H2 H3.
  - split; reflexivity.
  - injection H1 as H1. injection H2 as H2. injection H3 as H3. destruct (IH s r' s' H1 H2 H3) as [E1 E2]. split; nia.
Qed.

(* A block: 64 products of digits of at most 127 keep within 2^21 (128 of them, or both parts of 64: within 2^22), so FP32 holds them exactly. *)
Theorem block_range : 64 * (127 * 127) < 2 ^ 21 /\ 128 * (127 * 127) < 2 ^ 22 /\ 2 ^ 22 < 2 ^ 24.
Proof. repeat split; vm_compute; reflexivity. Qed.
