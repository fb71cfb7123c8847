// Cases of the gallery as Oclgrind takes them: OpenCL C 1.2. FIXED is defined for the clean twins. The line above each
// kernel says the case's name, the sizes of grid and work-group, and the arguments: in:N N words that were written,
// zero:N the same, all zero, raw:N memory that nobody wrote, int:N a number.
#ifdef FIXED
#define FIX(code) code
#define BUG(code)
#define EITHER(fix, bug) (fix)
#else
#define FIX(code)
#define BUG(code) code
#define EITHER(fix, bug) (bug)
#endif
#define SYNC barrier(CLK_LOCAL_MEM_FENCE)
#define SYNC_ALL barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#define T get_local_id(0)
#define I get_global_id(0)
#define B get_group_id(0)
typedef global uint *words;

// case no-guard 128 64 in:100 raw:100 int:100
kernel void no_guard(words in, words out, uint n) { if (EITHER(I < n, 1)) out[I] = in[I] + 1; }
// case guard-by-one 128 64 in:100 raw:100 int:100
kernel void guard_by_one(words in, words out, uint n) { if (EITHER(I < n, I <= n)) out[I] = in[I] + 1; }
// case before-the-first 128 64 in:128 raw:128
kernel void before_the_first(words in, words out) {
  uint left = EITHER(I == 0, 0) ? 0 : in[(uint)(I - 1)];
  out[I] = in[I] + left;
}
// case reverse-by-one 128 64 in:128 raw:128 int:128
kernel void reverse_by_one(words in, words out, uint n) { out[EITHER(n - 1 - I, n - I)] = in[I]; }
// case rest-of-a-pack 32 32 in:102 raw:102 int:102
kernel void rest_of_a_pack(words in, words out, uint n) {
  if (I < EITHER(n / 4, (n + 3) / 4)) vstore4(vload4(I, in), I, out);
  FIX(if (I < n % 4) out[n / 4 * 4 + I] = in[n / 4 * 4 + I];)
}
// case pack-off-its-place 64 64 in:65 raw:64
kernel void pack_off_its_place(words in, words out) {
  FIX(out[I] = in[I + 1];)
  BUG(if (I < 16) ((global uint4 *)out)[I] = ((global uint4 *)(in + 1))[I];)
}
// case shared-seam 128 64 in:192 raw:128
kernel void shared_seam(words in, words out) {
  local uint tile[EITHER(65, 64)];
  tile[T] = in[I];
  if (T == 0) tile[64] = in[I + 64];
  SYNC;
  out[I] = tile[T] + tile[T + 1];
}
// case bin-that-is-not-there 128 64 in:128 zero:10
kernel void bin_that_is_not_there(words keys, words counts) {
  uint key = I == 77 ? 1000 : keys[I] % 1000;
  atomic_inc(&counts[key / EITHER(101, 100)]);
}
// case neighbour-of-the-last 32 32 in:33 int:33
kernel void neighbour_of_the_last(words keys, uint n) {
  uint at = 2 * I;
  if (EITHER(at + 1 < n, at < n)) {
    uint a = keys[at], b = keys[at + 1];
    keys[at] = min(a, b);
    keys[at + 1] = max(a, b);
  }
}
// case index-that-is-data 64 64 in:64 in:50 raw:64 int:50
kernel void index_that_is_data(words at, words in, words out, uint n) {
  uint i = I == 33 ? n : at[I] % n;
  out[I] = EITHER(i == n, 0) ? 0 : in[i];
}
// case left-neighbour 64 64 in:64 raw:64
kernel void left_neighbour(words in, words out) {
  local uint tile[64];
  tile[T] = in[T];
  FIX(SYNC;)
  out[T] = tile[(T + 63) % 64];
}
// case reverse 64 64 in:64
kernel void reverse(words keys) {
  local uint tile[64];
  tile[T] = keys[T];
  FIX(SYNC;)
  keys[T] = tile[63 - T];
}
// case shift-in-place 64 64 in:64 raw:64
kernel void shift_in_place(words in, words out) {
  local uint tile[64];
  tile[T] = in[T];
  SYNC;
  uint next = tile[(T + 1) % 64];
  FIX(SYNC;)
  tile[T] = next;
  out[T] = tile[T];
}
// case scan-in-place 64 64 in:64 raw:64
kernel void scan_in_place(words in, words out) {
  local uint tile[64];
  tile[T] = in[T];
  SYNC;
  for (uint d = 1; d < 64; d *= 2) {
    uint before = T >= d ? tile[T - d] : 0;
    FIX(SYNC;)
    tile[T] += before;
    SYNC;
  }
  out[T] = tile[T];
}
// case suffix-scan-in-place 64 64 in:64 raw:64
kernel void suffix_scan_in_place(words in, words out) {
  local uint tile[64];
  tile[T] = in[T];
  SYNC;
  for (uint d = 1; d < 64; d *= 2) {
    uint behind = T + d < 64 ? tile[T + d] : 0;
    FIX(SYNC;)
    tile[T] += behind;
    SYNC;
  }
  out[T] = tile[T];
}
// case tree-level 64 64 in:64 raw:1
kernel void tree_level(words in, words out) {
  local uint tile[64];
  tile[T] = in[T];
  SYNC;
  for (uint d = 32; d > 0; d /= 2) {
    if (T < d) tile[T] += tile[T + d];
    FIX(SYNC;)
  }
  if (T == 0) out[0] = tile[0];
}
// case one-writes-all-read 64 64 in:64 raw:64
kernel void one_writes_all_read(words in, words out) {
  local uint one;
  if (T == 0) one = in[0];
  FIX(SYNC;)
  out[T] = in[T] + one;
}
// case tile-overwritten 64 64 in:256 raw:64
kernel void tile_overwritten(words in, words out) {
  local uint tile[64];
  uint sum = 0;
  for (uint step = 0; step < 4; step++) {
    tile[T] = in[step * 64 + T];
    SYNC;
    sum += tile[(T + 1) % 64] * (step + 1);
    FIX(SYNC;)
  }
  out[T] = sum;
}
// case product-second-barrier 16,16 8,8 in:256 in:256 raw:256
kernel void product_second_barrier(words a, words b, words c) {
  local uint left[64], right[64];
  uint x = get_local_id(0), y = get_local_id(1), column = get_global_id(0), row = get_global_id(1), sum = 0;
  for (uint step = 0; step < 2; step++) {
    left[y * 8 + x] = a[row * 16 + step * 8 + x];
    right[y * 8 + x] = b[(step * 8 + y) * 16 + column];
    SYNC;
    for (uint k = 0; k < 8; k++) sum += left[y * 8 + k] * right[k * 8 + x];
    FIX(SYNC;)
  }
  c[row * 16 + column] = sum;
}
// case pipeline-half 64 64 in:256 raw:64
kernel void pipeline_half(words in, words out) {
  local uint halves[128];
  uint sum = 0;
  halves[T] = in[T];
  FIX(halves[64 + T] = 0;) BUG(halves[64 + T] = 0;)
  for (uint step = 0; step < 4; step++) {
    SYNC;
    if (step + 1 < 4) halves[EITHER((step + 1) % 2, step % 2) * 64 + T] = in[(step + 1) * 64 + T];
    sum += halves[step % 2 * 64 + (T + 1) % 64] * (step + 1);
  }
  out[T] = sum;
}
// case histogram-get-set 64 64 in:64 raw:16
kernel void histogram_get_set(words keys, words counts) {
  local uint bins[16];
  if (T < 16) bins[T] = 0;
  SYNC;
  FIX(atomic_inc(&bins[keys[T] % 16]);)
  BUG(bins[keys[T] % 16] += 1;)
  SYNC;
  if (T < 16) counts[T] = bins[T];
}
// case cleared-too-late 64 64 in:64 raw:16
kernel void cleared_too_late(words keys, words counts) {
  local uint bins[16];
  if (T < 16) bins[T] = 0;
  FIX(SYNC;)
  atomic_inc(&bins[keys[T] % 16]);
  SYNC;
  if (T < 16) counts[T] = bins[T];
}
// case counted-too-early 64 64 in:64 raw:16
kernel void counted_too_early(words keys, words counts) {
  local uint bins[16];
  if (T < 16) bins[T] = 0;
  SYNC;
  atomic_inc(&bins[keys[T] % 16]);
  FIX(SYNC;)
  if (T < 16) counts[T] = bins[T];
}
// case two-writers 64 64 in:64 raw:64
kernel void two_writers(words in, words out) {
  local uint tile[64];
  uint own = in[T] % 3, other = in[T ^ 1] % 3;
  if (own >= other && EITHER(own > other || T % 2 == 0, 1)) tile[T / 2] = own * 2 + T % 2;
  SYNC;
  out[T] = tile[T / 2] / 2;
}
// case everyone-raises-the-flag 64 64 in:64 raw:64
kernel void everyone_raises_the_flag(words in, words out) {
  local uint one;
  if (T == 0) one = 0;
  SYNC;
  if (in[T] > 20) {
    FIX(atomic_xchg(&one, 1);)
    BUG(one = 1;)
  }
  SYNC;
  out[T] = one;
}
// case shortest-paths 8,8 8,8 in:64
kernel void shortest_paths(words distances) {
  local uint tile[64];
  uint x = get_local_id(0), y = get_local_id(1), own = y * 8 + x;
  tile[own] = x == y ? 0 : distances[own];
  for (uint k = 0; k < 8; k++) {
    SYNC;
    uint by_k = tile[y * 8 + k] + tile[k * 8 + x];
    FIX(SYNC;)
    tile[own] = min(tile[own], by_k);
  }
  distances[own] = tile[own];
}
// case bitonic-step 64 64 in:64
kernel void bitonic_step(words keys) {
  local uint tile[64];
  tile[T] = keys[T];
  for (uint stage = 2; stage <= 64; stage *= 2) {
    SYNC;
    for (uint d = stage / 2; d > 0; d /= 2) {
      uint partner = T ^ d;
      if (partner > T) {
        uint a = tile[T], b = tile[partner];
        if ((a > b) == ((T & stage) == 0)) { tile[T] = b; tile[partner] = a; }
      }
      FIX(SYNC;)
    }
  }
  SYNC;
  keys[T] = tile[T];
}
// case halo 128 64 in:130 raw:128
kernel void halo(words in, words out) {
  local uint tile[66];
  tile[T + 1] = in[I + 1];
  if (T == 0) tile[0] = in[I];
  if (T == 63) tile[65] = in[I + 2];
  FIX(SYNC;)
  out[I] = tile[T] + tile[T + 1] + tile[T + 2];
}
// case bytes-of-a-word 64 64 in:64 raw:64
kernel void bytes_of_a_word(words in, words out) {
  local uint tile[16];
  uint byte = in[T] & 0xFF, shift = 8 * (T % 4);
  FIX(((local uchar *)tile)[T] = byte;)
  BUG(tile[T / 4] = (tile[T / 4] & ~(0xFF << shift)) | byte << shift;)
  SYNC;
  out[T] = tile[T / 4];
}
// case transposed-tile 8,8 8,8 in:64 raw:64
kernel void transposed_tile(words in, words out) {
  local uint tile[64];
  uint x = get_local_id(0), y = get_local_id(1);
  tile[y * 8 + x] = in[y * 8 + x];
  FIX(SYNC;)
  out[y * 8 + x] = tile[x * 8 + y];
}
// case bins-not-cleared 64 64 in:64 raw:16
kernel void bins_not_cleared(words keys, words counts) {
  local uint bins[16];
  FIX(if (T < 16) bins[T] = 0; SYNC;)
  atomic_inc(&bins[keys[T] % 16]);
  SYNC;
  if (T < 16) counts[T] = bins[T];
}
// case incomplete-tile 64 64 in:50 raw:1 int:50
kernel void incomplete_tile(words in, words out, uint n) {
  local uint tile[64];
  if (T < n) tile[T] = in[T];
  FIX(if (T >= n) tile[T] = 0;)
  for (uint d = 32; d > 0; d /= 2) {
    SYNC;
    if (T < d) tile[T] += tile[T + d];
  }
  if (T == 0) out[0] = tile[0];
}
// case seam-not-loaded 128 64 in:129 raw:128 int:128
kernel void seam_not_loaded(words in, words out, uint n) {
  local uint tile[65];
  tile[T] = in[I];
  if (T == 63 && EITHER(1, I + 1 < n)) tile[64] = in[I + 1];
  SYNC;
  out[I] = tile[T] + tile[T + 1];
}
// case first-half 64 64 in:128 raw:64
kernel void first_half(words in, words out) {
  local uint halves[128];
  halves[T] = in[T];
  uint sum = 0;
  for (uint step = 0; step < 2; step++) {
    SYNC;
    sum += halves[EITHER(step % 2, (step + 1) % 2) * 64 + T];
    if (step == 0) halves[64 + T] = in[64 + T];
  }
  out[T] = sum;
}
// case only-if-found 64 64 in:64 raw:64
kernel void only_if_found(words in, words out) {
  local uint one;
  FIX(if (T == 0) one = 0xFFFFFFFF; SYNC;)
  if (in[T] == 5000) one = T;
  SYNC;
  out[T] = one;
}
// case counter-not-cleared 128 32 in:128 EITHER(zero:1,raw:1)
kernel void counter_not_cleared(words in, words count) { if (in[I] % 2 == 1) atomic_inc(&count[0]); }
// case column-of-padding 64 64 in:64 raw:72 raw:64
kernel void column_of_padding(words in, words padded, words out) {
  uint row = T / 8, column = T % 8;
  padded[row * 9 + column] = in[T];
  SYNC_ALL;
  out[T] = padded[row * 9 + EITHER(column, column + 1)];
}
// case barrier-in-a-branch 64 64 in:50 raw:50 int:50
kernel void barrier_in_a_branch(words in, words out, uint n) {
  local uint tile[64];
  if (T < n) { tile[T] = in[T]; BUG(SYNC;) }
  FIX(SYNC;)
  if (T < n) out[T] = tile[n - 1 - T];
}
// case two-barriers 64 64 in:64 raw:64
kernel void two_barriers(words in, words out) {
  local uint tile[64];
  if (T % 2 == 0) { tile[T] = in[T]; BUG(SYNC;) } else { tile[T] = 2 * in[T]; BUG(SYNC;) }
  FIX(SYNC;)
  out[T] = tile[T ^ 1];
}
// case two-barriers-by-warp 64 64 in:64 raw:64
kernel void two_barriers_by_warp(words in, words out) {
  local uint tile[64];
  if (T < 32) { tile[T] = in[T]; BUG(SYNC;) } else { tile[T] = 2 * in[T]; BUG(SYNC;) }
  FIX(SYNC;)
  out[T] = tile[T ^ 32];
}
// case return-before-the-barrier 64 64 in:50 raw:50 int:50
kernel void return_before_the_barrier(words in, words out, uint n) {
  local uint tile[64];
  BUG(if (T >= n) return;)
  tile[T] = T < n ? in[T] : 0;
  SYNC;
  if (T < n) out[T] = tile[n - 1 - T];
}
// case rounds-by-thread 64 64 in:150 raw:64 int:150
kernel void rounds_by_thread(words in, words out, uint n) {
  local uint tile[64];
  uint sum = 0;
  for (uint i = T; EITHER(i - T < n, i < n); i += 64) {
    tile[T] = i < n ? in[i] : 0;
    SYNC;
    sum += tile[T ^ 1];
    SYNC;
  }
  out[T] = sum;
}
// case leader-leaves 64 64 in:64 raw:64
kernel void leader_leaves(words in, words out) {
  local uint one;
  if (T == 0) { one = in[0]; BUG(out[0] = in[0]; return;) }
  SYNC;
  out[T] = one;
}
// case histogram-across-blocks 128 32 in:128 zero:16
kernel void histogram_across_blocks(words keys, words counts) {
  FIX(atomic_inc(&counts[keys[I] % 16]);)
  BUG(counts[keys[I] % 16] += 1;)
}
// case global-shift 128 32 in:128 in:128
kernel void global_shift(words in, words out) { out[I] = EITHER(in, out)[I + 1 < 128 ? I + 1 : I]; }
// case stencil-in-place 128 32 in:128 raw:128
kernel void stencil_in_place(words cells, words next) {
  uint sum = (I > 0 ? cells[I - 1] : 0) + cells[I];
  EITHER(next, cells)[I] = sum;
}
// case local-index 128 32 in:128 raw:128
kernel void local_index(words in, words out) { out[EITHER(I, T)] = 2 * in[I]; }
// case local-index-equal-input 128 32 zero:128 zero:128
kernel void local_index_equal_input(words in, words out) { out[EITHER(I, T)] = 2 * in[I]; }
// case tiles-that-overlap 192 64 in:128 raw:128
kernel void tiles_that_overlap(words in, words out) {
  uint i = B * EITHER(64, 61) + T;
  if (i < 128) out[i] = in[i] * (B + 1);
}
// case compare-then-set 128 32 in:128 zero:1
kernel void compare_then_set(words in, words largest) {
  FIX(atomic_max(&largest[0], in[I]);)
  BUG(if (in[I] > largest[0]) largest[0] = in[I];)
}
// case changed 128 32 in:128 zero:1
kernel void changed(words in, words flag) {
  if (in[I] > 50) {
    FIX(atomic_xchg(&flag[0], 1);)
    BUG(flag[0] = 1;)
  }
}
// case counter-read-plainly 128 32 in:128 zero:1 raw:128
kernel void counter_read_plainly(words in, words count, words late) {
  if (in[I] % 2 == 1) atomic_inc(&count[0]);
  uint seen = EITHER(atomic_add(&count[0], 0), count[0]);
  late[I] = seen <= 128;
}
// case push-along-edges 128 32 in:128 in:128 in:32 in:11
kernel void push_along_edges(words from, words to, words distances, words nearest) {
  uint by_edge = distances[from[I] % 32] + 1, node = to[I] % 11;
  FIX(atomic_min(&nearest[node], by_edge);)
  BUG(nearest[node] = min(nearest[node], by_edge);)
}
// case last-pack 32 32 in:102 raw:104 int:102
kernel void last_pack(words in, words out, uint n) {
  if (I < EITHER(n / 4, (n + 3) / 4)) {
    for (uint k = 0; k < 4; k++) out[4 * I + k] = 4 * I + k < n ? in[4 * I + k] : 0;
  }
  uint tail = n / 4 * 4 + I;
  if (tail < 104 && I < 4) out[tail] = tail < n ? in[tail] : 7;
}
// case stride-of-a-block 128 32 in:256 raw:256
kernel void stride_of_a_block(words in, words out) {
  for (uint i = I; i < 256; i += EITHER(get_global_size(0), get_local_size(0))) out[i] = in[i] + 1;
}
// case list-that-grows 128 32 in:128 raw:128 zero:1
kernel void list_that_grows(words in, words list, words len) {
  if (in[I] % 2 == 1) {
    FIX(uint at = atomic_inc(&len[0]);)
    BUG(uint at = len[0]; len[0] = at + 1;)
    list[at] = in[I];
  }
}
// A copy of OpenCL is one that all work-items of a group start together, and wait for together.
// case own-copy-not-awaited 64 64 in:64 raw:64
kernel void own_copy_not_awaited(words in, words out) {
  local uint slot[64];
  event_t copy = async_work_group_copy(slot, in, 64, 0);
  FIX(wait_group_events(1, &copy);)
  SYNC;
  out[T] = slot[63 - T];
  BUG(wait_group_events(1, &copy);)
}
// case one-group-too-many 64 64 in:128 raw:64
kernel void one_group_too_many(words in, words out) {
  local uint slots[128];
  event_t copies[2];
  for (uint i = 0; i < 2; i++) copies[i] = async_work_group_copy(slots + 64 * i, in + 64 * i, 64, 0);
  FIX(wait_group_events(1, &copies[0]);)
  SYNC;
  uint sum = slots[63 - T];
  wait_group_events(EITHER(1, 2), &copies[EITHER(1, 0)]);
  SYNC;
  out[T] = sum + slots[127 - T];
}
// case buffer-filled-too-early 64 64 in:192 raw:64
kernel void buffer_filled_too_early(words in, words out) {
  local uint slots[128];
  uint sum = 0;
  event_t copies[3];
  copies[0] = async_work_group_copy(slots, in, 64, 0);
  for (uint i = 0; i < 3; i++) {
    uint next = (i + 1) % 2 * 64;
    BUG(if (i < 2) copies[i + 1] = async_work_group_copy(slots + next, in + 64 * (i + 1), 64, 0);)
    wait_group_events(1, &copies[i]);
    SYNC;
    FIX(if (i < 2) copies[i + 1] = async_work_group_copy(slots + next, in + 64 * (i + 1), 64, 0);)
    sum += slots[i % 2 * 64 + 63 - T];
  }
  out[T] = sum;
}
// case source-changes-under-a-copy 64 64 in:64 raw:64
kernel void source_changes_under_a_copy(words data, words out) {
  local uint slot[64];
  event_t copy = async_work_group_copy(slot, data, 64, 0);
  FIX(wait_group_events(1, &copy); SYNC_ALL;)
  data[T] = 0;
  BUG(wait_group_events(1, &copy);)
  SYNC;
  out[T] = slot[T];
}
// case ends-while-own-copies-write 64 64 in:192 raw:64
kernel void ends_while_own_copies_write(words in, words out) {
  local uint slots[128];
  event_t copies[3];
  copies[0] = async_work_group_copy(slots, in, 64, 0);
  uint sum = 0;
  for (uint i = 0; i < 2; i++) {
    wait_group_events(1, &copies[i]);
    SYNC;
    if (EITHER(i == 0, 1)) {
      copies[i + 1] = async_work_group_copy(slots + (i + 1) % 2 * 64, in + 64 * (i + 1), 64, 0);
    }
    sum += slots[i * 64 + 63 - T];
  }
  out[T] = sum;
}
// case unwritten-half-copied 64 64 in:64 raw:64
kernel void unwritten_half_copied(words in, words out) {
  local uint slot[64];
  if (EITHER(1, T < 32)) slot[T] = in[T];
  SYNC;
  event_t copy = async_work_group_copy(out, slot, 64, 0);
  wait_group_events(1, &copy);
}
// case two-copies-to-one-slot 64 64 in:128 raw:64
kernel void two_copies_to_one_slot(words in, words out) {
  local uint slots[128];
  event_t copies[2];
  copies[0] = async_work_group_copy(slots, in, 64, 0);
  copies[1] = async_work_group_copy(slots + EITHER(64, 0), in + 64, 64, 0);
  wait_group_events(2, copies);
  SYNC;
  out[T] = slots[EITHER(64, 0) + 63 - T];
}
