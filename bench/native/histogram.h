// Durations in a histogram with buckets of at most 1/128 of their value: nothing is allocated and
// nothing sorted, however many are added.

#ifndef HISTOGRAM_H
#define HISTOGRAM_H

#include <stdint.h>

enum { HISTOGRAM_STEPS = 128, HISTOGRAM_BUCKETS = 58 * HISTOGRAM_STEPS };

struct histogram {
  uint64_t counts[HISTOGRAM_BUCKETS];
  uint64_t total;
  int64_t highest_ns;
};

void add(struct histogram *, int64_t ns);
// The least value that at least this fraction of the durations do not exceed, in ms; 0 when empty.
double quantile_ms(const struct histogram *, double fraction);

#endif
