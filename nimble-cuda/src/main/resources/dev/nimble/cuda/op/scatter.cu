// dev.nimble.op.Scatter: out is data, but that updates [count, inner] go into the rows that `rows`
// names, in order where a row is named again. So that the result does not depend on which thread
// comes first, every element is written by one thread, which finds its updates by row: `heads` has
// an entry a row, the last update or the first link of a list; `next` links the updates of a row.

#define NO_UPDATE (-1)

extern "C" __global__ void scatter_clear(long long extent, int* heads) {
  GRID_STRIDE(row, extent) { heads[row] = NO_UPDATE; }
}

// The row of update i, or -1 if there is none, which is reported.
__device__ inline long long row_of(long long i, long long extent, const long long* rows, int node,
                                   unsigned long long* report) {
  long long row = rows[i];
  if (row < -extent || row >= extent) {
    report_index(node, row, report);
    return -1;
  }
  return row < 0 ? row + extent : row;
}

// The last update of each row.
extern "C" __global__ void scatter_last(long long count, long long extent, const long long* rows,
                                        int* heads, int node, unsigned long long* report) {
  GRID_STRIDE(i, count) {
    long long row = row_of(i, extent, rows, node, report);
    if (row >= 0) atomicMax(heads + row, (int)i);
  }
}

// All updates of each row, in any order.
extern "C" __global__ void scatter_link(long long count, long long extent, const long long* rows,
                                        int* heads, int* next, int node,
                                        unsigned long long* report) {
  GRID_STRIDE(i, count) {
    long long row = row_of(i, extent, rows, node, report);
    if (row >= 0) next[i] = atomicExch(heads + row, (int)i);
  }
}

// Puts the lists in rising order: a merge sort, of runs that double in length until there is one.
extern "C" __global__ void scatter_sort(long long extent, int* heads, int* next) {
  GRID_STRIDE(row, extent) {
    int head = heads[row];
    int merges = 2;
    for (int length = 1; merges > 1; length *= 2) {
      int rest = head;
      int tail = NO_UPDATE;
      merges = 0;
      while (rest != NO_UPDATE) {
        merges++;
        int a = rest;
        int a_left = 0;
        while (a_left < length && rest != NO_UPDATE) {
          rest = next[rest];
          a_left++;
        }
        int b = rest;
        int b_left = length;
        while (a_left > 0 || (b_left > 0 && b != NO_UPDATE)) {
          int least;
          if (a_left > 0 && (b_left == 0 || b == NO_UPDATE || a < b)) {
            least = a;
            a = next[a];
            a_left--;
          } else {
            least = b;
            b = next[b];
            b_left--;
          }
          if (tail == NO_UPDATE) {
            head = least;
          } else {
            next[tail] = least;
          }
          tail = least;
        }
        rest = b;
      }
      if (tail != NO_UPDATE) next[tail] = NO_UPDATE;
    }
    heads[row] = head;
  }
}

// Element i of the result: that of the row's last update, or of data.
#define REPLACE(SIZE, T)                                                                     \
  extern "C" __global__ void scatter_replace_##SIZE(long long n, long long inner,            \
                                                    const int* heads, const T* data,         \
                                                    const T* updates, T* out) {              \
    GRID_STRIDE(i, n) {                                                                      \
      int last = heads[i / inner];                                                           \
      out[i] = last == NO_UPDATE ? data[i] : updates[last * inner + i % inner];              \
    }                                                                                        \
  }
REPLACE(1, unsigned char)
REPLACE(2, unsigned short)
REPLACE(4, unsigned int)
REPLACE(8, unsigned long long)

// Order as dev.nimble.op.Scatter.Reduction.
enum { NONE, ADD, MUL, MIN, MAX };

template <typename F> __device__ inline F combine(int reduction, F a, F b) {
  switch (reduction) {
    case ADD: return a + b;
    case MUL: return a * b;
    case MIN: return smaller(a, b);
    default: return larger(a, b);
  }
}
__device__ inline long long combine(int reduction, long long a, long long b) {
  switch (reduction) {
    case ADD: return (long long)((unsigned long long)a + (unsigned long long)b);
    case MUL: return (long long)((unsigned long long)a * (unsigned long long)b);
    case MIN: return a < b ? a : b;
    default: return a > b ? a : b;
  }
}

// Element i of the result: that of data combined with each update of its row in turn.
#define COMBINE(NAME, T)                                                                     \
  extern "C" __global__ void scatter_combine_##NAME(                                         \
      long long n, long long inner, int reduction, const int* heads, const int* next,        \
      const T* data, const T* updates, T* out) {                                             \
    GRID_STRIDE(i, n) {                                                                      \
      T held = data[i];                                                                      \
      for (int k = heads[i / inner]; k != NO_UPDATE; k = next[k]) {                          \
        store(&held, combine(reduction, load(&held), load(updates + k * inner + i % inner))); \
      }                                                                                      \
      out[i] = held;                                                                         \
    }                                                                                        \
  }
COMBINE(f32, float)
COMBINE(f64, double)
COMBINE(f16, half16)
COMBINE(bf16, bfloat16)
COMBINE(i64, long long)
COMBINE(i32, int)
COMBINE(i16, short)
COMBINE(i8, signed char)
COMBINE(u64, unsigned long long)
COMBINE(u32, unsigned int)
COMBINE(u16, unsigned short)
COMBINE(u8, unsigned char)
