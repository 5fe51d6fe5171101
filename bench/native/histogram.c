#include "histogram.h"

// Values below HISTOGRAM_STEPS have a bucket each. Above, each power of two has HISTOGRAM_STEPS of
// them, told by the bits behind the leading one.
static unsigned bucket_of(uint64_t value) {
  if (value < HISTOGRAM_STEPS) return (unsigned)value;
  unsigned shift = 63 - (unsigned)__builtin_clzll(value) - 7;
  return (shift + 1) * HISTOGRAM_STEPS + (unsigned)(value >> shift) - HISTOGRAM_STEPS;
}

static uint64_t highest_of(unsigned bucket) {
  if (bucket < HISTOGRAM_STEPS) return bucket;
  unsigned shift = bucket / HISTOGRAM_STEPS - 1;
  uint64_t first = (uint64_t)(HISTOGRAM_STEPS + bucket % HISTOGRAM_STEPS) << shift;
  return first + ((uint64_t)1 << shift) - 1;
}

void add(struct histogram *histogram, int64_t ns) {
  histogram->counts[bucket_of(ns < 0 ? 0 : (uint64_t)ns)] += 1;
  histogram->total += 1;
  if (ns > histogram->highest_ns) histogram->highest_ns = ns;
}

double quantile_ms(const struct histogram *histogram, double fraction) {
  double wanted = fraction * (double)histogram->total;
  uint64_t seen = 0;
  for (unsigned bucket = 0; bucket < HISTOGRAM_BUCKETS; bucket += 1) {
    seen += histogram->counts[bucket];
    if (seen > 0 && (double)seen >= wanted) {
      uint64_t highest = highest_of(bucket);
      uint64_t bound = (uint64_t)histogram->highest_ns;
      return (double)(highest < bound ? highest : bound) / 1e6;
    }
  }
  return 0;
}
