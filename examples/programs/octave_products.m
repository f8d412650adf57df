% SPDX-License-Identifier: MIT
% Products, a solution, singular values and a triangular solution with GNU Octave. Prints seconds and an element.
% usage: octave-cli octave_products.m [N]
arguments = argv();
n = 600;
if numel(arguments) > 0
  n = str2double(arguments{1});
end
rand("seed", 1);
randn("seed", 1);
a = randn(n);
b = a .* exp(3 * randn(n));
tic;
for i = 1:5
  c = a * b;
end
x = a \ b(:, 1:50);
s = svd(a(1:min(n, 300), 1:min(n, 300)));
r = chol(a * a' + n * eye(n));
y = r' \ b(:, 1:50);
z = complex(a, b)' * complex(b, a);
d = single(a) * single(b);
printf("%g %.17g %.17g %.9g\n", toc, c(1, 1), real(z(1, 1)), d(1, 1));
