# The installed libraries, made of the objects of all modules: libkizami.so (target kizami) and libkizami.a (kizami_static).
# Their users see include/ only. Both names are absent while no module has a source.
function(kizami_add_libraries)
  add_custom_target(kizami_products)  # what ./kz build makes: libraries and programs, no tests
  get_property(modules GLOBAL PROPERTY KIZAMI_MODULES_WITH_SOURCES)
  get_property(externals GLOBAL PROPERTY KIZAMI_EXTERNAL_DEPS)
  list(REMOVE_DUPLICATES externals)
  if(NOT modules)
    message(STATUS "libkizami: no module has a source yet")
    return()
  endif()
  foreach(module ${modules})
    list(APPEND objects $<TARGET_OBJECTS:${module}>)
  endforeach()
  add_library(kizami SHARED ${objects})
  add_library(kizami_static STATIC ${objects})
  set_target_properties(kizami PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
  # nodelete: the threads of the pool outlive a dlclose().
  set(map ${PROJECT_SOURCE_DIR}/cmake/libkizami.map)
  target_link_options(kizami PRIVATE -Wl,--no-undefined -Wl,-z,nodelete -Wl,--version-script=${map})
  set_target_properties(kizami PROPERTIES LINK_DEPENDS ${map})
  if(KIZAMI_HAS_CUDA)
    list(APPEND externals CUDA::cudart_static)
  endif()
  foreach(dep ${externals})  # for programs of this tree; cmake/install.cmake has what users of libkizami.a link
    target_link_libraries(kizami PRIVATE ${dep})
    target_link_libraries(kizami_static INTERFACE $<BUILD_INTERFACE:$<LINK_ONLY:${dep}>>)
  endforeach()
  foreach(target kizami kizami_static)
    set_target_properties(${target} PROPERTIES OUTPUT_NAME kizami LINKER_LANGUAGE CXX)
    target_compile_features(${target} INTERFACE cxx_std_20)
    target_include_directories(${target} INTERFACE "$<BUILD_INTERFACE:${KIZAMI_INCLUDES}>"
                                                   $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  endforeach()
  if(KIZAMI_SANITIZE)  # sanitizer runtimes live in the executable
    set_target_properties(kizami PROPERTIES LINK_OPTIONS "")
  endif()
  set_target_properties(kizami_static PROPERTIES EXPORT_NAME kizami_archive)  # Kizami::kizami_static of an installed tree adds what that needs
  add_library(Kizami::kizami ALIAS kizami)
  add_library(Kizami::kizami_static ALIAS kizami_static)
  add_dependencies(kizami_products kizami kizami_static)
endfunction()
