// SPDX-License-Identifier: MIT
// linked WHICH: a program that is linked with cuBLAS.
extern "C" int make_calls(const char* which);

int main(int argc, char** argv) { return argc == 2 ? make_calls(argv[1]) : 2; }
