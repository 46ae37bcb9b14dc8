// The compiler's command line; all of it lives in compiler/driver.

#include "compiler/driver/Driver.h"

#include <iostream>

int main(int argc, char** argv) {
  std::vector<std::string> arguments(argv + (argc > 0), argv + argc);
  return recipec::driver::run(argc > 0 ? argv[0] : "recipec", arguments,
                              std::cout, std::cerr);
}
