// Times MPI_Allreduce of floats, sum: mpi_all_reduce CALLS BYTES... prints "bytes us" a line, the
// time of one call: wall time of CALLS in a row behind a barrier, the mean over ranks. Checked once
// a size. Part of beside-openmpi.
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

void check(const std::vector<float>& output, float expected) {
  for (const float value : output)
    if (value != expected) {
      fprintf(stderr, "MPI_Allreduce: got %f, expected %f\n", double(value), double(expected));
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

void time_size(size_t bytes, int calls, int rank, int ranks) {
  const size_t count = bytes / sizeof(float);
  const std::vector<float> input(count, float(rank + 1));
  std::vector<float> output(count);
  const auto call = [&] {
    MPI_Allreduce(input.data(), output.data(), int(count), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  };
  call();
  check(output, float(ranks * (ranks + 1) / 2));
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  for (int i = 0; i < calls; ++i) call();
  const double mine = (MPI_Wtime() - start) / calls;
  double sum = 0;
  MPI_Reduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%zu %.3f\n", bytes, sum / ranks * 1e6);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int calls = argc > 1 ? atoi(argv[1]) : 0;
  for (int i = 2; calls > 0 && i < argc; ++i)
    time_size(strtoull(argv[i], nullptr, 10), calls, rank, ranks);
  MPI_Finalize();
  return calls > 0 ? 0 : 2;
}
