# What a tree of sanitizers leaves out by KIZAMI_SANITIZED_BRIEFLY, as ./kz test has it; ./kz nightly builds and runs all. Left out is what has little
# memory, arithmetic or threads of its own that a sanitizer could judge, or has them as its neighbours that stay do:
# tables and text (model, wishes), code of the tests themselves (check, gpu_soak), the command line, whose readers of files stay under fuzzing, and
# accuracy, which is a matter of values; and tiles, whose debug mode looks for the same faults as a sanitizer: indices, masks and memory beyond its end.
# The release tree has all of it in every run, tests of the debug mode among it.
set(KIZAMI_NIGHTLY_FOLDERS "")
set(KIZAMI_NIGHTLY_SOURCES "^$")
if(KIZAMI_SANITIZE AND KIZAMI_SANITIZED_BRIEFLY)
  set(KIZAMI_NIGHTLY_FOLDERS check cli device examples gpu_soak model tile tile_guide tile_kernels tile_operations wishes)
  string(CONCAT KIZAMI_NIGHTLY_SOURCES
    "/tests/api/(accuracy_.*|bound_tightness|processor_time)_test"
    "|/tests/num/(bounds|double_double|ec_.*|error_free|float_split|native_range|rung|tensor_core)_test")
endif()
