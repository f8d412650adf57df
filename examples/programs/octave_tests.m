% SPDX-License-Identifier: MIT
% GNU Octave's own tests of its functions of linear algebra, signals and polynomials: what of them passes, by function. Then products of
% all types, as residuals relative to k u |A||B|, which a BLAS keeps below 1.
for folder = {"expm", "fftfilt", "polyfit"}
  files = dir(fullfile(fileparts(which(folder{1})), "*.m"));
  for i = 1:numel(files)
    [passed, all] = test(files(i).name(1:end - 2), "quiet", "/dev/null");
    printf("%s: %d of %d\n", files(i).name(1:end - 2), passed, all);
  end
end
randn("seed", 1);
for n = [1, 7, 64, 150]
  a = randn(n) .* exp(2 * randn(n));
  b = randn(n);
  for kind = {"double", "single", "complex", "transposed", "own"}
    x = a;
    y = b;
    switch kind{1}
      case "single"
        x = single(a);
        y = single(b);
      case "complex"
        x = complex(a, b);
        y = complex(b, a);
      case "transposed"
        x = a';
      case "own"
        y = a';
    end
    c = x * y;
    wanted = zeros(n);
    for p = 1:n  % outer products: no BLAS of level 3
      wanted += x(:, p) .* y(p, :);
    end
    ratio = max(max(abs(c - wanted) ./ (2 * n * eps(class(c)) * (abs(x) * abs(y)))));
    printf("product %s %d: %d\n", kind{1}, n, ratio <= 1);
  end
end
