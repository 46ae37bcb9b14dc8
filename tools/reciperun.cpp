// reciperun: carries out plans. See runtime/train/Commands.h.

#include "runtime/train/Commands.h"

int main(int argc, char** argv) {
  return reciperun::train::runCommand({argv + 1, argv + argc});
}
