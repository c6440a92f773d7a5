# ${net.title}: written by match_aie; this file belongs to you.
#
#   make             build/lib${net.name}.so, with ${net.name}_run of include/${net.name}.h
#   make sanitize    build/${net.name}_main, checked by address and undefined-behaviour sanitizers
#   make static      build/${net.name}_static, which needs no library: run on raw files, inputs first
#   make WERROR=     for a compiler with warnings of its own
% if net.rules:
#   make ${net.rules.split("/")[-1].removesuffix(".mk").ljust(12)}for the chip: ${net.rules} says how
% endif
<%
    warnings = " ".join(w for w in net.warnings if w != "-Werror")
    objects = {kind: " ".join(f"build/{kind}/{path.removesuffix('.cpp')}.o" for path in net.cxx_sources) for kind in ("plain", "checked")}
%>\

CC ?= cc
% if net.cxx_sources:
CXX ?= c++
% endif
WERROR ?= ${" ".join(w for w in net.warnings if w == "-Werror")}
FLAGS := ${" ".join(net.flags)} ${warnings} $(WERROR) -Iinclude
% if net.cxx_sources:
CXX_FLAGS := ${" ".join(net.cxx_flags)} ${warnings} $(WERROR) -Iinclude
% endif
SOURCES := ${" ".join(net.sources)}
INPUTS := $(SOURCES) $(wildcard include/* src/* weights/*)

.PHONY: all sanitize static clean
all: build/lib${net.name}.so
sanitize: build/${net.name}_main
static: build/${net.name}_static
% if net.cxx_sources:

build/plain/%.o: %.cpp $(wildcard */*.h */*.hpp)
	@mkdir -p $(@D)
	$(CXX) $(CXX_FLAGS) -fPIC -c $< -o $@

build/checked/%.o: %.cpp $(wildcard */*.h */*.hpp)
	@mkdir -p $(@D)
	$(CXX) $(CXX_FLAGS) ${" ".join(net.cxx_sanitizers)} -c $< -o $@
% endif

build/lib${net.name}.so: $(INPUTS)${" " + objects["plain"] if net.cxx_sources else ""}
	@mkdir -p build
	$(CC) $(FLAGS) -fPIC -shared $(SOURCES)${" " + objects["plain"] if net.cxx_sources else ""} -o $@ -lm${" -lstdc++ -pthread" if net.cxx_sources else ""}

build/${net.name}_main: $(INPUTS)${" " + objects["checked"] if net.cxx_sources else ""}
	@mkdir -p build
	$(CC) $(FLAGS) ${" ".join(net.sanitizers)} $(SOURCES) src/${net.name}_main.c${" " + objects["checked"] if net.cxx_sources else ""} -o $@ -lm${" -lstdc++ -pthread" if net.cxx_sources else ""}

build/${net.name}_static: $(INPUTS)${" " + objects["plain"] if net.cxx_sources else ""}
	@mkdir -p build
	$(CC) $(FLAGS) -static -DMATCH_AIE_STATIC $(SOURCES) src/${net.name}_main.c${" " + objects["plain"] if net.cxx_sources else ""} -o $@ -lm${" -lstdc++ -pthread" if net.cxx_sources else ""}
% if net.rules:

NETWORK := ${net.name}
include ${net.rules}
% endif

clean:
	rm -rf build
