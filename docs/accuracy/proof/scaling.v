(* SPDX-License-Identifier: MIT *)
(* Norm scaling (src/num/bounds.hpp): lines scaled to a norm of U and rounded to integers have a product within (U + sqrt(k) / 2)^2, and what
   rounding takes from an exact product. *)
From Coq Require Import Reals List Lra Lia Psatz.
Import ListNotations.
Open Scope R_scope.

Fixpoint dot (xs ys : list R) : R :=
  match xs, ys with x :: xs', y :: ys' => x * y + dot xs' ys' | _, _ => 0 end.

Lemma dot_square_pos xs : 0 <= dot xs xs.
Proof. induction xs as [|x xs IH]; cbn [dot]; [lra | pose proof (Rle_0_sqr x); unfold Rsqr in *; lra]. Qed.

Theorem cauchy_schwarz xs ys : dot xs ys * dot xs ys <= dot xs xs * dot ys ys.
Proof.
  revert ys. induction xs as [|x xs IH]; intros [|y ys]; cbn [dot]; [lra | lra | lra |].
  specialize (IH ys). pose proof (dot_square_pos xs) as HX. pose proof (dot_square_pos ys) as HY.
    set (X := dot xs xs) in *. set (Y := dot ys ys) in *. set (P := dot xs ys) in *. clearbody X Y P.
    assert (H : 2 * P * x * y <= X * (y * y) + Y * (x * x)).
    { destruct (Req_dec X 0) as [HX0|HX0].
      - assert (P * P <= 0) by (rewrite HX0 in IH; lra). assert (P = 0) by nra. subst P. rewrite HX0. nra.
      - apply Rmult_le_reg_l with X; [lra|]. pose proof (Rle_0_sqr (X * y - P * x)) as S. unfold Rsqr in S.
        assert (P * P * (x * x) <= X * Y * (x * x)) by (apply Rmult_le_compat_r; nra). nra. }
    nra.
Qed.

(* d_i: what rounding adds to element i, at most one half. *)
Definition halves (ds : list R) : Prop := Forall (fun d => Rabs d <= / 2) ds.

Lemma halves_square ds : halves ds -> dot ds ds <= INR (length ds) / 4.
Proof.
  induction 1 as [|d ds Hd _ IH]; cbn [dot length]; [simpl; lra|]. rewrite S_INR.
  assert (d * d <= / 4). { unfold Rabs in Hd. destruct (Rcase_abs d); nra. } lra.
Qed.

Fixpoint sum_of (xs ds : list R) : list R :=
  match xs, ds with x :: xs', d :: ds' => (x + d) :: sum_of xs' ds' | _, _ => [] end.

Lemma dot_sum xs ds : length xs = length ds -> dot (sum_of xs ds) (sum_of xs ds) = dot xs xs + 2 * dot xs ds + dot ds ds.
Proof.
  revert ds. induction xs as [|x xs IH]; intros [|d ds] H; try discriminate; cbn [dot sum_of]; [lra|].
  injection H as H. rewrite (IH ds H). ring.
Qed.

Theorem rounded_norm xs ds limit : length xs = length ds -> halves ds -> 0 <= limit -> dot xs xs <= limit * limit ->
  dot (sum_of xs ds) (sum_of xs ds) <= (limit + sqrt (INR (length xs)) / 2) * (limit + sqrt (INR (length xs)) / 2).
Proof.
  intros Hlen Hd HU Hx. rewrite (dot_sum _ _ Hlen). pose proof (halves_square ds Hd) as HD. pose proof (cauchy_schwarz xs ds) as C.
  rewrite <- Hlen in HD. set (k := INR (length xs)) in *. assert (Hk : 0 <= k) by apply pos_INR.
  pose proof (sqrt_sqrt k Hk) as Hs. pose proof (sqrt_pos k) as Hs0. set (s := sqrt k) in *.
  pose proof (dot_square_pos xs) as HX0. pose proof (dot_square_pos ds) as HD0.
  set (X := dot xs xs) in *. set (D := dot ds ds) in *. set (P := dot xs ds) in *. clearbody X D P s k.
  assert (B : P <= limit * s / 2).
  { destruct (Rle_dec P 0); [nra|]. apply Rnot_lt_le. intros Hlt.
    assert (X * D <= limit * limit * (s * s / 4)). { apply Rmult_le_compat; lra. }
    assert (L0 : 0 <= limit * s / 2) by nra.
    pose proof (Rmult_le_0_lt_compat _ _ _ _ L0 L0 Hlt Hlt) as HP.
    replace (limit * s / 2 * (limit * s / 2)) with (limit * limit * (s * s / 4)) in HP by field. lra. }
  replace ((limit + s / 2) * (limit + s / 2)) with (limit * limit + limit * s + s * s / 4) by field. lra.
Qed.

(* So two such lines have a product of at most (P - 1) / 2 if (U + sqrt(k) / 2)^2 is: the CRT is unique for it. *)
Theorem scaled_product_within xs ys limit : dot xs xs <= limit * limit -> dot ys ys <= limit * limit -> Rabs (dot xs ys) <= limit * limit.
Proof.
  intros Hx Hy. pose proof (cauchy_schwarz xs ys) as C. pose proof (dot_square_pos xs). pose proof (dot_square_pos ys).
  assert (dot xs xs * dot ys ys <= (limit * limit) * (limit * limit)) by (apply Rmult_le_compat; assumption).
  apply Rabs_le. pose proof (Rle_0_sqr limit). unfold Rsqr in *. split; nra.
Qed.

(* Truncation: with magnitudes of rounding errors of at most 1/2 on either side, in units of the quanta, the product is off by at most
   (||b||_1 + ||a||_1) / 2 + k / 4. *)
Fixpoint norm1 (xs : list R) : R := match xs with x :: xs' => Rabs x + norm1 xs' | [] => 0 end.

Theorem truncation xs ys ds es : length xs = length ds -> length ys = length es -> length xs = length ys -> halves ds -> halves es ->
  Rabs (dot (sum_of xs ds) (sum_of ys es) - dot xs ys) <= (norm1 ys + norm1 xs) / 2 + INR (length xs) / 4.
Proof.
  revert ys ds es. induction xs as [|x xs IH]; intros [|y ys] [|d ds] [|e es] H1 H2 H3 Hd He; try discriminate.
  - simpl. rewrite Rminus_0_r, Rabs_R0. lra.
  - injection H1 as H1. injection H2 as H2. injection H3 as H3. inversion Hd as [|? ? Hd0 Hd']; inversion He as [|? ? He0 He']; subst.
    specialize (IH ys ds es H1 H2 H3 Hd' He'). cbn [dot sum_of norm1 length]. rewrite S_INR.
    set (A := dot (sum_of xs ds) (sum_of ys es)) in *. set (B := dot xs ys) in *. clearbody A B.
    replace ((x + d) * (y + e) + A - (x * y + B)) with ((A - B) + (d * y + e * x + d * e)) by ring.
    refine (Rle_trans _ _ _ (Rabs_triang _ _) _).
    assert (Hone : Rabs (d * y + e * x + d * e) <= Rabs y / 2 + Rabs x / 2 + / 4).
    { refine (Rle_trans _ _ _ (Rabs_triang _ _) _). refine (Rle_trans _ _ _ (Rplus_le_compat_r _ _ _ (Rabs_triang _ _)) _). rewrite !Rabs_mult.
      pose proof (Rabs_pos x). pose proof (Rabs_pos y). pose proof (Rabs_pos d). pose proof (Rabs_pos e). nra. }
    lra.
Qed.
