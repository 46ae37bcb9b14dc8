// Assertions of the fuzz targets about the code under test.

#ifndef RECIPEC_TEST_FUZZ_REQUIRE_H
#define RECIPEC_TEST_FUZZ_REQUIRE_H

#include <cstdio>
#include <cstdlib>

namespace recipec::fuzz {

/// Aborts with the broken promise; libFuzzer then keeps the input.
inline void require(bool holds, const char* promise) {
  if (holds)
    return;
  std::fprintf(stderr, "broken promise: %s\n", promise);
  std::abort();
}

} // namespace recipec::fuzz

#endif // RECIPEC_TEST_FUZZ_REQUIRE_H
