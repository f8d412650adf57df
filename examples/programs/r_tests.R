# SPDX-License-Identifier: MIT
# R's linear algebra by its residuals, in units of the dimension times the machine epsilon (the scale of HPL, whose threshold is 16):
# "solve 90: 1" is one within 16. Then products of all kinds, as residuals relative to k u |A||B|, which a BLAS keeps below 1.
scaled <- function(residual, size, n) max(Mod(residual)) / (n * .Machine$double.eps * size)
tell <- function(what, n, is_good) cat(sprintf("%s %d: %d\n", what, n, is_good))
set.seed(1)
for (n in c(7L, 40L, 90L, 150L)) {
  a <- matrix(rnorm(n * n), n)
  b <- matrix(rnorm(n * 5), n)
  g <- crossprod(a) / n + diag(n)
  x <- solve(a, b)
  tell("solve", n, scaled(a %*% x - b, max(abs(a)) * max(abs(x)) * n + max(abs(b)), n) <= 16)
  tell("inverse", n, scaled(solve(a) %*% a - diag(n), kappa(a, exact = TRUE), n) <= 16)
  r <- chol(g)
  tell("chol", n, scaled(crossprod(r) - g, max(abs(g)), n) <= 16)
  tell("chol2inv", n, scaled(chol2inv(r) %*% g - diag(n), kappa(g, exact = TRUE), n) <= 16)
  tell("backsolve", n, scaled(r %*% backsolve(r, b) - b, max(abs(b)), n) <= 16)
  q <- qr(a)
  tell("qr", n, scaled(qr.Q(q) %*% qr.R(q) - a[, q$pivot], max(abs(a)), n) <= 16)
  l <- qr(a, LAPACK = TRUE)
  tell("qr of LAPACK", n, scaled(crossprod(qr.Q(l)) - diag(n), 1, n) <= 16)
  s <- svd(a)
  tell("svd", n, scaled(s$u %*% (s$d * t(s$v)) - a, max(s$d), n) <= 16)
  e <- eigen(g, symmetric = TRUE)
  tell("eigen", n, scaled(g %*% e$vectors - e$vectors %*% diag(e$values), max(e$values), n) <= 16)
  f <- lm.fit(cbind(1, b), a[, 1])
  tell("lm", n, scaled(crossprod(cbind(1, b), f$residuals), max(abs(a)) * max(abs(b)), n) <= 16)
}
for (n in c(1L, 7L, 64L, 150L)) {
  a <- matrix(rnorm(n * n) * exp(2 * rnorm(n * n)), n)
  b <- matrix(rnorm(n * n), n)
  z <- matrix(complex(real = a, imaginary = b), n)
  w <- matrix(complex(real = b, imaginary = a), n)
  products <- list(plain = list(a, b, a %*% b), crossprod = list(t(a), b, crossprod(a, b)), tcrossprod = list(a, t(b), tcrossprod(a, b)),
                   own = list(t(a), a, crossprod(a)), complex = list(z, w, z %*% w))
  for (kind in names(products)) {
    x <- products[[kind]][[1]]
    y <- products[[kind]][[2]]
    wanted <- matrix(0 * x[1, 1], n, n)
    for (p in seq_len(n)) wanted <- wanted + outer(x[, p], y[p, ])  # no BLAS of level 3
    ratio <- max(Mod(products[[kind]][[3]] - wanted) / (2 * n * .Machine$double.eps * (Mod(x) %*% Mod(y))))
    tell(paste("product", kind), n, ratio <= 1)
  }
}
