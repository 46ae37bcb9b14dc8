// The compiler's command line; all of it lives in compiler/driver.

#include "compiler/driver/Program.h"

int main(int argc, char** argv) {
  return recipec::driver::runProgram(argc, argv);
}
