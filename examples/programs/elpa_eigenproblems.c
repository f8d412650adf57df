// SPDX-License-Identifier: MIT
// Eigenproblems by ELPA on the ranks of MPI, each solution judged on rank 0 by loops that call no BLAS. A line of JSON for each check.
//   mpicc.openmpi -O2 $(pkg-config --cflags elpa) elpa_eigenproblems.c -lelpa -lm -o elpa_eigenproblems
//   mpiexec -n 4 ./elpa_eigenproblems real 2 200        # real|complex, stages of the reduction (1 or 2), order
// With A of order n, |A| its largest column sum of magnitudes, u = 2^-53, held to the limit of LAPACK's own tests of eigenvalues, 50:
//   residual        max over columns |A z - w z|_1 / (|A| n u)
//   orthogonality   max over columns of |Z^H Z - I| / (n u)
//   eigenvalues     max |w - exact| / (|A| n u), of a reflection of the diagonal matrix 1, ..., n: H D H, H = I - 2 v v^H / v^H v
//   cholesky        |A - U^H U| / (|A| n u)
//   multiply        |C - A^H B| / (|A| |B| n u)
#include <complex.h>
#include <elpa/elpa.h>
#include <math.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef double complex Scalar;

enum { kBlock = 16 };
static const double kUnit = 0x1p-53;
static const double kLimit = 50;

static int rank, num_ranks, grid_rows, grid_cols, n, is_complex, num_failed;

static void fail(const char* what, int error) {
  fprintf(stderr, "rank %d: %s: %s\n", rank, what, elpa_strerr(error));
  MPI_Abort(MPI_COMM_WORLD, 1);
}

// Lines of rank `part` of `parts` when blocks are dealt in turns, and which lines of the whole they are.
static int num_local(int part, int parts) {
  int count = 0;
  for (int i = 0; i < n; ++i) count += i / kBlock % parts == part;
  return count;
}
static int global_of(int local, int part, int parts) {
  return (local / kBlock * parts + part) * kBlock + local % kBlock;
}

// Elements in [-1, 1), the same on all ranks.
static double uniform(uint64_t seed, uint64_t i, uint64_t j) {
  uint64_t x = (seed * 1000003u + i) * 1000003u + j;
  x ^= x >> 31, x *= 0x9e3779b97f4a7c15u, x ^= x >> 29, x *= 0xbf58476d1ce4e5b9u, x ^= x >> 32;
  return (double)(int64_t)x * 0x1p-63;
}
static Scalar hermitian(int i, int j) {
  const int low = i < j ? i : j, high = i < j ? j : i;
  const double imaginary = is_complex && i != j ? uniform(2, (uint64_t)high, (uint64_t)low) : 0;
  return uniform(1, (uint64_t)high, (uint64_t)low) + I * (i > j ? imaginary : -imaginary);
}
static Scalar direction(int i) {
  return uniform(5, (uint64_t)i, 0) + (is_complex ? I * uniform(6, (uint64_t)i, 0) : 0);
}
static Scalar reflected(int i, int j) {
  static double length, moment;  // v^H v and v^H D v
  if (length == 0) {
    for (int k = 0; k < n; ++k) {
      const double square = creal(direction(k) * conj(direction(k)));
      length += square;
      moment += (k + 1) * square;
    }
  }
  return (i == j ? i + 1 : 0) + direction(i) * conj(direction(j)) * (4 * moment / length - 2.0 * (i + j + 2)) / length;
}
static Scalar definite(int i, int j) { return hermitian(i, j) + (i == j ? 2.0 * n : 0); }
static Scalar other(int i, int j) {
  return uniform(3, (uint64_t)i, (uint64_t)j) + (is_complex ? I * uniform(4, (uint64_t)i, (uint64_t)j) : 0);
}

// A rank's part of a matrix, real or complex as ELPA takes it.
typedef struct {
  int rows, cols;
  void* data;
} Part;

static Part new_part(Scalar (*element)(int, int)) {
  Part part = {num_local(rank % grid_rows, grid_rows), num_local(rank / grid_rows, grid_cols), NULL};
  part.data = calloc((size_t)part.rows * (size_t)part.cols + 1, sizeof(Scalar));
  for (int j = 0; element != NULL && j < part.cols; ++j) {
    for (int i = 0; i < part.rows; ++i) {
      const Scalar x = element(global_of(i, rank % grid_rows, grid_rows), global_of(j, rank / grid_rows, grid_cols));
      const size_t at = (size_t)j * (size_t)part.rows + (size_t)i;
      if (is_complex) ((Scalar*)part.data)[at] = x;
      if (!is_complex) ((double*)part.data)[at] = creal(x);
    }
  }
  return part;
}

// The whole matrix on every rank: each adds zeros to what others have.
static Scalar* whole(Part part) {
  Scalar* all = calloc((size_t)n * (size_t)n, sizeof(Scalar));
  for (int j = 0; j < part.cols; ++j) {
    for (int i = 0; i < part.rows; ++i) {
      const size_t at = (size_t)j * (size_t)part.rows + (size_t)i;
      const size_t row = (size_t)global_of(i, rank % grid_rows, grid_rows);
      const size_t col = (size_t)global_of(j, rank / grid_rows, grid_cols);
      all[col * (size_t)n + row] = is_complex ? ((Scalar*)part.data)[at] : ((double*)part.data)[at];
    }
  }
  MPI_Allreduce(MPI_IN_PLACE, all, 2 * n * n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return all;
}

static double norm_of(const Scalar* x) {
  double norm = 0;
  for (int j = 0; j < n; ++j) {
    double sum = 0;
    for (int i = 0; i < n; ++i) sum += cabs(x[(size_t)j * (size_t)n + (size_t)i]);
    norm = fmax(norm, sum);
  }
  return norm;
}

// The largest column sum of |x^H y - z|.
static double difference(const Scalar* x, const Scalar* y, const Scalar* z) {
  double worst = 0;
  for (int j = 0; j < n; ++j) {
    double column = 0;
    for (int i = 0; i < n; ++i) {
      Scalar sum = 0;
      for (int k = 0; k < n; ++k)
        sum += conj(x[(size_t)i * (size_t)n + (size_t)k]) * y[(size_t)j * (size_t)n + (size_t)k];
      column += cabs(sum - z[(size_t)j * (size_t)n + (size_t)i]);
    }
    if (!(column <= worst) && !isnan(worst)) worst = column;  // NaN is the worst
  }
  return worst;
}

static void judge(const char* what, double ratio) {
  if (rank != 0) return;
  const int is_good = ratio <= kLimit;
  num_failed += !is_good;
  printf("{\"check\": \"%s\", \"ratio\": %.3g, \"good\": %s}\n", what, isfinite(ratio) ? ratio : 1e300,
         is_good ? "true" : "false");
}

static elpa_t new_handle(int stages) {
  int error = ELPA_OK;
  elpa_t handle = elpa_allocate(&error);
  if (error != ELPA_OK) fail("elpa_allocate", error);
  const struct {
    const char* name;
    int value;
  } settings[] = {{"na", n},
                  {"nev", n},
                  {"local_nrows", num_local(rank % grid_rows, grid_rows)},
                  {"local_ncols", num_local(rank / grid_rows, grid_cols)},
                  {"nblk", kBlock},
                  {"mpi_comm_parent", MPI_Comm_c2f(MPI_COMM_WORLD)},
                  {"process_row", rank % grid_rows},
                  {"process_col", rank / grid_rows}};
  for (size_t i = 0; i < sizeof settings / sizeof *settings; ++i) {
    elpa_set_integer(handle, settings[i].name, settings[i].value, &error);
    if (error != ELPA_OK) fail(settings[i].name, error);
  }
  if ((error = elpa_setup(handle)) != ELPA_OK) fail("elpa_setup", error);
  elpa_set_integer(handle, "solver", stages == 1 ? ELPA_SOLVER_1STAGE : ELPA_SOLVER_2STAGE, &error);
  if (error != ELPA_OK) fail("solver", error);
  return handle;
}

// All eigenvalues and eigenvectors of a matrix; eigenvalues compared with exact ones where there are.
static void solve(elpa_t handle, Scalar (*element)(int, int), const char* name, double (*exact)(int)) {
  int error = ELPA_OK;
  Part a = new_part(element), z = new_part(NULL);
  double* w = calloc((size_t)n, sizeof *w);
  Scalar* all_a = whole(a);  // ELPA overwrites a
  if (is_complex) elpa_eigenvectors_a_h_a_dc(handle, a.data, w, z.data, &error);
  if (!is_complex) elpa_eigenvectors_a_h_a_d(handle, a.data, w, z.data, &error);
  if (error != ELPA_OK) fail("elpa_eigenvectors", error);
  Scalar* all_z = whole(z);
  if (rank == 0) {
    const double unit = n * kUnit, norm = norm_of(all_a);
    Scalar *scaled = calloc((size_t)n * (size_t)n, sizeof(Scalar)),
           *identity = calloc((size_t)n * (size_t)n, sizeof(Scalar));
    for (int j = 0; j < n; ++j) {
      identity[(size_t)j * (size_t)n + (size_t)j] = 1;
      for (int i = 0; i < n; ++i)
        scaled[(size_t)j * (size_t)n + (size_t)i] = w[j] * all_z[(size_t)j * (size_t)n + (size_t)i];
    }
    char what[64];
    snprintf(what, sizeof what, "%s residual", name);
    judge(what, difference(all_a, all_z, scaled) / (norm * unit));  // A = A^H
    snprintf(what, sizeof what, "%s orthogonality", name);
    judge(what, difference(all_z, all_z, identity) / unit);
    double worst = 0;
    for (int i = 0; exact != NULL && i < n; ++i) {
      const double distance = fabs(w[i] - exact(i));
      if (!(distance <= worst) && !isnan(worst)) worst = distance;
    }
    snprintf(what, sizeof what, "%s eigenvalues", name);
    if (exact != NULL) judge(what, worst / (norm * unit));
    free(scaled), free(identity);
  }
  free(a.data), free(z.data), free(w), free(all_a), free(all_z);
}

static double reflected_eigenvalue(int i) { return i + 1; }

// The steps that generalized problems have before the standard one.
static void factor(elpa_t handle) {
  int error = ELPA_OK;
  Part a = new_part(definite), b = new_part(other), c = new_part(NULL);
  Scalar *all_a = whole(a), *all_b = whole(b);
  if (is_complex)
    elpa_hermitian_multiply_a_h_a_dc(handle, 'F', 'F', n, a.data, b.data, b.rows, b.cols, c.data, c.rows, c.cols,
                                     &error);
  if (!is_complex)
    elpa_hermitian_multiply_a_h_a_d(handle, 'F', 'F', n, a.data, b.data, b.rows, b.cols, c.data, c.rows, c.cols,
                                    &error);
  if (error != ELPA_OK) fail("elpa_hermitian_multiply", error);
  Scalar* all_c = whole(c);
  if (is_complex) elpa_cholesky_a_h_a_dc(handle, a.data, &error);
  if (!is_complex) elpa_cholesky_a_h_a_d(handle, a.data, &error);
  if (error != ELPA_OK) fail("elpa_cholesky", error);
  Scalar* all_u = whole(a);
  if (rank == 0) {
    const double unit = n * kUnit;
    for (int j = 0; j < n; ++j) {
      for (int i = j + 1; i < n; ++i) all_u[(size_t)j * (size_t)n + (size_t)i] = 0;  // what is below U is not of it
    }
    judge("multiply", difference(all_a, all_b, all_c) / (norm_of(all_a) * norm_of(all_b) * unit));
    judge("cholesky", difference(all_u, all_u, all_a) / (norm_of(all_a) * unit));
  }
  free(a.data), free(b.data), free(c.data), free(all_a), free(all_b), free(all_c), free(all_u);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &num_ranks);
  is_complex = argc == 4 && strcmp(argv[1], "complex") == 0;
  const int stages = argc == 4 ? atoi(argv[2]) : 0;
  n = argc == 4 ? atoi(argv[3]) : 0;
  grid_rows = num_ranks % 2 == 0 ? 2 : 1;
  grid_cols = num_ranks / grid_rows;
  if ((!is_complex && (argc != 4 || strcmp(argv[1], "real") != 0)) || stages < 1 || stages > 2 ||
      n < kBlock * num_ranks) {
    if (rank == 0)
      fprintf(stderr, "usage: elpa_eigenproblems real|complex 1|2 ORDER, of at least %d\n", kBlock * num_ranks);
    MPI_Finalize();
    return 2;
  }
  int error = elpa_init(20221109);
  if (error != ELPA_OK) fail("elpa_init", error);
  elpa_t handle = new_handle(stages);
  solve(handle, hermitian, "random", NULL);
  solve(handle, reflected, "reflected", reflected_eigenvalue);
  factor(handle);
  elpa_deallocate(handle, &error);
  elpa_uninit(&error);
  MPI_Finalize();
  return num_failed != 0;
}
