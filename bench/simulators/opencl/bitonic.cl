// The bitonic sort of 256 keys per work-group that the speed of simulators is compared by: 36 rounds, 37 barriers.
kernel void bitonic(global uint *keys) {
  local uint tile[256];
  uint t = get_local_id(0), i = get_global_id(0);
  tile[t] = keys[i];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint stage = 2; stage <= 256; stage *= 2) {
    for (uint distance = stage / 2; distance > 0; distance /= 2) {
      uint partner = t ^ distance;
      if (partner > t) {
        uint a = tile[t], b = tile[partner];
        if ((a > b) == ((t & stage) == 0)) {
          tile[t] = b;
          tile[partner] = a;
        }
      }
      barrier(CLK_LOCAL_MEM_FENCE);
    }
  }
  keys[i] = tile[t];
}
