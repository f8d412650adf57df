# SPDX-License-Identifier: MIT
# Products, a solution, singular values and a triangular solution with R. Prints seconds and elements.
# usage: Rscript --vanilla r_products.R [N]
arguments <- commandArgs(trailingOnly = TRUE)
n <- if (length(arguments) > 0) as.integer(arguments[1]) else 600L
set.seed(1)
a <- matrix(rnorm(n * n), n)
b <- a * exp(3 * matrix(rnorm(n * n), n))
begin <- proc.time()[["elapsed"]]
for (i in 1:5) c <- a %*% b
x <- solve(a, b[, 1:50])
small <- seq_len(min(n, 300L))
s <- svd(a[small, small])$d
g <- tcrossprod(a) + n * diag(n)
r <- chol(g)
y <- backsolve(r, b[, 1:50], transpose = TRUE)
z <- matrix(complex(real = a, imaginary = b), n) %*% matrix(complex(real = b, imaginary = a), n)
cat(sprintf("%g %.17g %.17g %.17g\n", proc.time()[["elapsed"]] - begin, c[1, 1], y[n, 1], Re(z[1, 1])))
