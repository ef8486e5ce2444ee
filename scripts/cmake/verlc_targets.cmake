# Shared target rules: one static library per folder, one shared object per engine, generated unit lists.

find_program(VERLC_CCACHE ccache)
if(VERLC_CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER ${VERLC_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${VERLC_CCACHE})
endif()

add_library(verlc_options INTERFACE)
target_compile_options(verlc_options INTERFACE -Wall -Wextra -Werror
  $<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off>)
if(VERLC_SANITIZE)
  # gcc 12 takes instrumented variants for uninitialised; -O1 halves the time of the build.
  target_compile_options(verlc_options INTERFACE -fsanitize=${VERLC_SANITIZE} -fno-omit-frame-pointer
    -fno-sanitize-recover=all -O1 -g1 -Wno-maybe-uninitialized)
  target_link_options(verlc_options INTERFACE -fsanitize=${VERLC_SANITIZE})
endif()

if(VERLC_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "VERLC_FUZZ needs clang++: -DCMAKE_CXX_COMPILER=clang++ -DCMAKE_C_COMPILER=clang")
  endif()
  target_compile_options(verlc_options INTERFACE -Wno-error -fsanitize=fuzzer-no-link,address,undefined
    -fno-omit-frame-pointer -fno-sanitize-recover=undefined)
  target_link_options(verlc_options INTERFACE -fsanitize=address,undefined)
  target_include_directories(verlc_options BEFORE INTERFACE ${CMAKE_SOURCE_DIR}/tests/fuzz/compat)
endif()

# verlc_library(NAME LIBS ...): a static library of every .cpp directly in this folder.
# Sources are included as "core/base/error.hpp" or "recipe/recipe.hpp": the roots are engines/ and cli/.
function(verlc_library name)
  cmake_parse_arguments(ARG "" "" "LIBS;SOURCES" ${ARGN})
  if(NOT ARG_SOURCES)
    file(GLOB ARG_SOURCES CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  endif()
  if(NOT ARG_SOURCES)
    add_library(${name} INTERFACE)
    target_include_directories(${name} INTERFACE ${CMAKE_SOURCE_DIR}/engines ${CMAKE_SOURCE_DIR}/engines/include
      ${CMAKE_SOURCE_DIR}/cli)
    target_link_libraries(${name} INTERFACE verlc_options ${ARG_LIBS})
    return()
  endif()
  add_library(${name} STATIC ${ARG_SOURCES})
  target_include_directories(${name} PUBLIC ${CMAKE_SOURCE_DIR}/engines ${CMAKE_SOURCE_DIR}/engines/include
    ${CMAKE_SOURCE_DIR}/cli)
  target_link_libraries(${name} PUBLIC verlc_options ${ARG_LIBS})
endfunction()

# collect_units(TARGET DIR NAMESPACE FUNCTION_PREFIX TYPE INCLUDE): every .cpp of DIR is a unit that defines
#   void NAMESPACE::FUNCTION_PREFIX_<file stem>(TYPE&);
# A generated file calls them all in name order as NAMESPACE::FUNCTION_PREFIX_all(TYPE&), so that a new unit
# is one new file and a wrong name is a link error. INCLUDE declares TYPE.
function(collect_units target dir namespace prefix type include)
  file(GLOB units CONFIGURE_DEPENDS ${dir}/*.cpp)
  list(SORT units)
  set(declarations "")
  set(calls "")
  foreach(unit IN LISTS units)
    get_filename_component(stem ${unit} NAME_WE)
    string(APPEND declarations "void ${prefix}_${stem}(${type}&);\n")
    string(APPEND calls "  ${prefix}_${stem}(registry);\n")
  endforeach()
  set(generated ${CMAKE_CURRENT_BINARY_DIR}/${prefix}_all.cpp)
  file(CONFIGURE OUTPUT ${generated} CONTENT
"#include \"${include}\"
namespace ${namespace} {
${declarations}void ${prefix}_all(${type}& registry);
void ${prefix}_all([[maybe_unused]] ${type}& registry) {
${calls}}
}  // namespace ${namespace}
")
  target_sources(${target} PRIVATE ${units} ${generated})
endfunction()

# verlc_plugin(NAME DIR SOURCES ... LIBS ...): a shared object that exports only the plugin entry symbol.
function(verlc_plugin name output_dir)
  cmake_parse_arguments(ARG "" "" "LIBS;SOURCES" ${ARGN})
  add_library(${name}_so MODULE ${ARG_SOURCES})
  set(map ${CMAKE_SOURCE_DIR}/engines/include/verlc/plugin.map)
  set_target_properties(${name}_so PROPERTIES PREFIX "" OUTPUT_NAME ${name} LIBRARY_OUTPUT_DIRECTORY ${output_dir}
    BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN" LINK_DEPENDS ${map})
  target_include_directories(${name}_so PRIVATE ${CMAKE_SOURCE_DIR}/engines/include)
  target_compile_options(${name}_so PRIVATE -ffunction-sections -fdata-sections -fno-semantic-interposition
    $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CXX_COMPILER_ID:GNU>>:-fno-gnu-unique>)
  target_link_options(${name}_so PRIVATE LINKER:--version-script=${map} LINKER:--exclude-libs,ALL LINKER:-z,now
    LINKER:-z,relro LINKER:-z,noexecstack LINKER:-z,nodelete LINKER:--as-needed LINKER:--gc-sections
    LINKER:--build-id=sha1 LINKER:--enable-new-dtags)
  if(NOT VERLC_SANITIZE)
    target_link_options(${name}_so PRIVATE LINKER:-z,defs)
  endif()
  target_link_libraries(${name}_so PRIVATE verlc_options ${ARG_LIBS})
endfunction()

# verlc_test_starts_mpi(NAME): under AddressSanitizer the test's processes do not look for leaks. Open MPI keeps memory to
# the end and unloads the modules that could be named in a suppression; the other tests find verlc's own leaks.
function(verlc_test_starts_mpi name)
  if(VERLC_SANITIZE)
    set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT ASAN_OPTIONS=detect_leaks=0)
  endif()
endfunction()

# verlc_test(TIER AREA LIBS ...): every .cpp of tests/TIER/AREA becomes the program TIER_AREA, run by ctest with
# label TIER. The Catch2 main is compiled once, in tests/support.
function(verlc_test tier area)
  cmake_parse_arguments(ARG "" "TIMEOUT" "LIBS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/${tier}/${area}/*.cpp)
  if(NOT sources)
    return()
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  set(name ${tier}_${area})
  add_executable(${name} ${sources})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests)
  target_compile_definitions(${name} PRIVATE VERLC_SOURCE_DIR="${CMAKE_SOURCE_DIR}" VERLC_BINARY_DIR="${CMAKE_BINARY_DIR}")
  target_link_libraries(${name} PRIVATE verlc_test_support ${ARG_LIBS})
  if(tier STREQUAL "e2e")
    add_dependencies(${name} verlc)
  endif()
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS ${tier} TIMEOUT ${ARG_TIMEOUT})
  # Tests that start ranks don't run beside others on two cores.
  if(tier MATCHES "^(dist|e2e)$")
    set_tests_properties(${name} PROPERTIES PROCESSORS 2)
  endif()
endfunction()
