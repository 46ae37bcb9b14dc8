// Adjustments that clang needs to accept code that GCC accepts. Fuzz builds
// include this file at the top of every file.

#ifndef RECIPEC_TEST_FUZZ_CLANG_H
#define RECIPEC_TEST_FUZZ_CLANG_H

// ANTLR 4.9 has a class with const members and a constructor that does not
// initialise them. It is never called; the macro turns it into a function.
#define InterpreterData(...) void unused(__VA_ARGS__)

#include "compiler/recipe/Recipe.h"

namespace recipec::recipe {
// A Value holds Records, which hold Values. Clang instantiates the destructor
// at its first use, which must come before std::pair<..., Value>.
inline void destroyFirst(Value& value) {
  value.~Value();
}
} // namespace recipec::recipe

#endif // RECIPEC_TEST_FUZZ_CLANG_H
