# Language level, warnings, and the flags that the promise "the same bits everywhere" rests on.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

# One optimised configuration. No -DNDEBUG: a check that the tests ran with is the check that users run with.
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo)
endif()
foreach(language C CXX)
  set(CMAKE_${language}_FLAGS_RELWITHDEBINFO "-O3 -g1")
endforeach()

# Bit identity: a*b + c is rounded twice unless the source says fma. Never -ffast-math, never -march=native (engines choose
# their instruction set at run time). tools/check_flags.py reads compile_commands.json and fails when one of these slips.
add_compile_options($<$<COMPILE_LANGUAGE:C,CXX>:-ffp-contract=off> $<$<COMPILE_LANGUAGE:C,CXX>:-fno-math-errno>
                    $<$<COMPILE_LANGUAGE:CUDA>:-fmad=false> $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-ffp-contract=off>
                    $<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr>  # num/ uses std::array in device code
                    $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-fconstexpr-steps=100000000>)  # the constants of num/crt_table.cpp

# GCC looks for what it may forget of a unit when its memory has doubled since; of some sources together that is 6 to 7 % of the time, for a fifth to a third more
# memory, 1.2 GB at most (docs/perf/build_times.md).
if(KIZAMI_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:--param=ggc-min-expand=1000> $<$<COMPILE_LANGUAGE:CXX>:--param=ggc-min-heapsize=3000000>)
endif()

# Linked PRIVATE by every target of ours; never exported.
add_library(kizami_warnings INTERFACE)
target_compile_options(kizami_warnings INTERFACE
  $<$<COMPILE_LANGUAGE:C,CXX>:-Wall> $<$<COMPILE_LANGUAGE:C,CXX>:-Wextra> $<$<COMPILE_LANGUAGE:C,CXX>:-Wpedantic>
  $<$<COMPILE_LANGUAGE:C,CXX>:-Wshadow> $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra>)
if(KIZAMI_WERROR)
  target_compile_options(kizami_warnings INTERFACE
    $<$<COMPILE_LANGUAGE:C,CXX>:-Werror> $<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings>)
endif()

# Linked PRIVATE by what the libraries are made of: a section for each function and each variable, of which a linker leaves out those
# that nothing reaches (-Wl,--gc-sections). Without, it can leave out whole units only. The code is the same.
add_library(kizami_sections INTERFACE)
target_compile_options(kizami_sections INTERFACE $<$<COMPILE_LANGUAGE:C,CXX>:-ffunction-sections> $<$<COMPILE_LANGUAGE:C,CXX>:-fdata-sections>)
