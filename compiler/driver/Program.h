// The entry point of the program, around the command line.

#ifndef RECIPEC_DRIVER_PROGRAM_H
#define RECIPEC_DRIVER_PROGRAM_H

namespace recipec::driver {

/// Runs the command line of `main` and returns the exit code. Failing to write
/// standard output is an error, except for a pipe whose reader has exited. An
/// out-of-memory condition and every uncaught exception end in a message.
int runProgram(int argc, char** argv);

} // namespace recipec::driver

#endif // RECIPEC_DRIVER_PROGRAM_H
