(* SPDX-License-Identifier: MIT *)
(* Floating-point theorems of the certificate (docs/accuracy/certificate.md) over Flocq's model of IEEE 754: FP32 is FLT with 24 bits and the
   least exponent -149, rounding to nearest even. *)
From Coq Require Import Reals ZArith Lra Lia Psatz.
From Flocq Require Import Core Plus_error Relative.
Open Scope R_scope.

Notation emin := (-149)%Z.
Notation prec := 24%Z.
Notation fexp := (FLT_exp emin prec).
Notation rnd := (round radix2 fexp ZnearestE).
Notation is_fp32 := (generic_format radix2 fexp).
Notation pow := (bpow radix2).
Definition u := pow (-24).

#[local] Instance prec_gt_0 : Prec_gt_0 prec. Proof. reflexivity. Qed.

Lemma u_value : u = / 16777216. Proof. unfold u. simpl. reflexivity. Qed.
Lemma u_pos : 0 < u. Proof. apply bpow_gt_0. Qed.

(* One addition of two FP32 numbers: an error of at most u times the sum, subnormal or not. *)
Lemma addition x y : is_fp32 x -> is_fp32 y -> exists e, Rabs e <= u /\ rnd (x + y) = (x + y) * (1 + e).
Proof.
  intros Hx Hy. destruct (FLT_plus_error_N_ex radix2 emin prec (fun n => negb (Z.even n)) x y Hx Hy) as (e & He & Hr).
  exists e. split; [|exact Hr]. refine (Rle_trans _ _ _ He _).
  assert (Hu : u_ro radix2 prec = u). { unfold u_ro, u. simpl. lra. }
  rewrite Hu. pose proof u_pos. apply Rmult_le_reg_r with (1 + u); [lra|].
  unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. nra.
Qed.

(* The terms of blocks: I < 2^24 times a power of two that is 2^-149 or more is an FP32 number. *)
Theorem term_is_exact (i e : Z) : (0 <= i < 2 ^ 24)%Z -> (emin <= e)%Z -> is_fp32 (IZR i * pow e).
Proof.
  intros Hi He. apply generic_format_FLT. exists (Float radix2 i e); simpl.
  - unfold F2R. simpl. reflexivity.
  - rewrite Z.abs_eq by lia. exact (proj2 Hi).
  - exact He.
Qed.

(* Deficits are at most 52, so that the exponents of the definition and of the device are within FP32. *)
Theorem exponents_in_range (d d' : Z) : (0 <= d <= 52)%Z -> (0 <= d' <= 52)%Z ->
  (-116 <= -12 - d - d' <= -12)%Z /\ (23 <= 127 - d - d' <= 127)%Z /\ (-126 <= -149 + (127 - d - d'))%Z.
Proof. lia. Qed.

(* The sum of blocks, block after block: S of the terms 0 .. n - 1, and their exact sum L. *)
Section Sum.
Variable t : nat -> R.
Hypothesis t_fp32 : forall b, is_fp32 (t b).
Hypothesis t_pos : forall b, 0 <= t b.

Fixpoint S (n : nat) : R := match n with O => 0 | Datatypes.S m => rnd (S m + t m) end.
Fixpoint L (n : nat) : R := match n with O => 0 | Datatypes.S m => L m + t m end.

Lemma S_fp32 n : is_fp32 (S n).
Proof. destruct n; simpl; [apply generic_format_0 | apply generic_format_round; auto with typeclass_instances]. Qed.

Lemma L_pos n : 0 <= L n. Proof. induction n; simpl; [lra | specialize (t_pos n); lra]. Qed.

(* A tile may end early: S never falls. *)
Theorem S_grows n : S n <= S (Datatypes.S n).
Proof.
  simpl. rewrite <- (round_generic radix2 fexp ZnearestE (S n)) at 1 by apply S_fp32.
  apply round_le; auto with typeclass_instances. specialize (t_pos n). lra.
Qed.

Theorem S_pos n : 0 <= S n.
Proof. induction n; [simpl; lra | apply Rle_trans with (S n); [assumption | apply S_grows]]. Qed.

(* Theorem 1, but for the value of gamma. *)
Theorem S_error n : Rabs (S n - L n) <= ((1 + u) ^ n - 1) * L n.
Proof.
  induction n as [|n IH]; [simpl; rewrite Rminus_0_r, Rabs_R0; lra|].
  destruct (addition (S n) (t n) (S_fp32 n) (t_fp32 n)) as (e & He & Hr). cbn [S L]. rewrite Hr.
  pose proof (L_pos n) as HL. pose proof (t_pos n) as Ht. pose proof u_pos as Hu.
  replace ((S n + t n) * (1 + e) - (L n + t n)) with ((S n - L n) * (1 + e) + (L n + t n) * e) by ring.
  refine (Rle_trans _ _ _ (Rabs_triang _ _) _). rewrite !Rabs_mult.
  rewrite (Rabs_right (L n + t n)) by lra.
  assert (H1 : Rabs (1 + e) <= 1 + u). { refine (Rle_trans _ _ _ (Rabs_triang _ _) _). rewrite Rabs_R1. lra. }
  set (g := (1 + u) ^ n) in *. assert (Hg : 1 <= g). { unfold g. apply pow_R1_Rle. lra. }
  assert (H2 : Rabs (S n - L n) * Rabs (1 + e) <= (g - 1) * L n * (1 + u)).
  { apply Rmult_le_compat; auto using Rabs_pos. }
  assert (H3 : (L n + t n) * Rabs e <= (L n + t n) * u) by (apply Rmult_le_compat_l; lra).
  simpl. fold g. assert (0 <= (g - 1) * t n * (1 + u)) by (apply Rmult_le_pos; [apply Rmult_le_pos|]; lra). nra.
Qed.
End Sum.

(* gamma = 2 B u, up to 2^24 additions. *)
Theorem gamma_bound n : INR n * u <= 1 -> (1 + u) ^ n - 1 <= 2 * INR n * u.
Proof.
  intros Hn. enough (H : (1 + u) ^ n <= 1 + INR n * u + (INR n * u) ^ 2).
  { pose proof (pos_INR n). pose proof u_pos. assert (0 <= INR n * u) by nra. nra. }
  revert Hn. pose proof u_pos as Hu. induction n as [|n IH]; intros Hn; [simpl; lra|].
  rewrite S_INR in *. pose proof (pos_INR n) as Hpos. assert (Hn' : INR n * u <= 1) by nra. specialize (IH Hn').
  simpl pow in *. rewrite <- tech_pow_Rmult. set (k := INR n) in *. set (a := (1 + u) ^ n) in *.
  assert (Ha : (1 + u) * a <= (1 + u) * (1 + k * u + (k * u) ^ 2)) by (apply Rmult_le_compat_l; lra).
  refine (Rle_trans _ _ _ Ha _). assert (0 <= k * u) by nra. assert (0 <= u * u) by nra.
  assert (k * (k * u) * (u * u) <= k * (u * u)) by (apply Rmult_le_compat_r; nra). simpl. nra.
Qed.

(* Theorem 1: S is a lower bound of L, but for gamma. *)
Theorem S_is_lower_bound t n : (forall b, is_fp32 (t b)) -> (forall b, 0 <= t b) -> INR n * u <= 1 ->
  (1 - 2 * INR n * u) * S t n <= L t n.
Proof.
  intros Hf Hp Hn. pose proof (S_error t Hf Hp n) as H. pose proof (gamma_bound n Hn) as G. pose proof (L_pos t Hp n). pose proof (S_pos t Hp n).
  apply Rabs_le_inv in H. pose proof (pos_INR n). pose proof u_pos. set (g := 2 * INR n * u) in *.
  assert (0 <= g) by (unfold g; nra). assert (S t n <= (1 + g) * L t n) by nra.
  destruct (Rle_dec 1 g); [nra|]. apply Rle_trans with ((1 - g) * ((1 + g) * L t n)); [apply Rmult_le_compat_l; lra | nra].
Qed.

(* Theorem 3: a step in units of 2^10 S is the step of the definition, since nothing is subnormal there. *)
Lemma round_scaled x : pow (-116) <= x -> rnd (x * pow (-10)) = rnd x * pow (-10).
Proof.
  intros Hx. assert (H0 : 0 < x) by (apply Rlt_le_trans with (2 := Hx); apply bpow_gt_0).
  assert (Hpos : 0 < x * pow (-10)) by (apply Rmult_lt_0_compat; [assumption | apply bpow_gt_0]).
  rewrite 2!round_FLT_FLX.
  - unfold round, scaled_mantissa, cexp. rewrite mag_mult_bpow by lra. unfold FLX_exp.
    replace (mag radix2 x + -10 - prec)%Z with (mag radix2 x - prec + -10)%Z by ring.
    replace (- (mag radix2 x - prec + -10))%Z with (- (mag radix2 x - prec) + 10)%Z by ring.
    rewrite (bpow_plus radix2 (- (mag radix2 x - prec))).
    replace (x * pow (-10) * (pow (- (mag radix2 x - prec)) * pow 10)) with (x * pow (- (mag radix2 x - prec)) * (pow (-10) * pow 10)) by ring.
    rewrite <- bpow_plus. simpl (-10 + 10)%Z. simpl (pow 0). rewrite Rmult_1_r.
    unfold F2R. simpl Fnum. simpl Fexp. rewrite bpow_plus. ring.
  - rewrite Rabs_right by lra. apply Rle_trans with (2 := Hx). apply bpow_le. simpl. lia.
  - rewrite Rabs_right by lra. replace (pow (emin + prec - 1)) with (pow (-116) * pow (-10)) by (rewrite <- bpow_plus; reflexivity).
    apply Rmult_le_compat_r; [apply bpow_ge_0 | assumption].
Qed.

Theorem device_step (i d d' : Z) s : (0 <= i < 2 ^ 22)%Z -> (0 <= d <= 52)%Z -> (0 <= d' <= 52)%Z ->
  is_fp32 s -> (s = 0 \/ pow (-116) <= s) ->
  rnd (IZR i * pow (-149) * pow (127 - d - d') + s * pow (-10)) = rnd (s + IZR i * pow (-12 - d - d')) * pow (-10).
Proof.
  intros Hi Hd Hd' Hs Hs0.
  assert (E : IZR i * pow (-149) * pow (127 - d - d') + s * pow (-10) = (s + IZR i * pow (-12 - d - d')) * pow (-10)).
  { rewrite Rmult_plus_distr_r, !Rmult_assoc, <- !bpow_plus. replace (-149 + (127 - d - d'))%Z with (-12 - d - d' + -10)%Z by ring. ring. }
  rewrite E. assert (Hb : pow (-116) <= pow (-12 - d - d')) by (apply bpow_le; lia). pose proof (bpow_gt_0 radix2 (-116)).
  destruct (Z.eq_dec i 0) as [->|Hne].
  - destruct Hs0 as [->|Hs0]; [rewrite !Rmult_0_l, Rplus_0_r, Rmult_0_l, round_0 by auto with typeclass_instances; ring|].
    rewrite Rmult_0_l, Rplus_0_r. apply round_scaled. assumption.
  - apply round_scaled. assert (1 <= IZR i) by (apply IZR_le; lia).
    assert (pow (-116) <= IZR i * pow (-12 - d - d')) by nra. destruct Hs0; lra.
Qed.
