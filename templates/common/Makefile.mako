# ${net.title}: written by match_aie; this file belongs to you.
#
#   make             build/lib${net.name}.so, with ${net.name}_run of include/${net.name}.h
#   make sanitize    build/${net.name}_main, checked by address and undefined-behaviour sanitizers
#   make WERROR=     for a compiler with warnings of its own

CC ?= cc
WERROR ?= ${" ".join(w for w in net.warnings if w == "-Werror")}
FLAGS := ${" ".join(net.flags)} ${" ".join(w for w in net.warnings if w != "-Werror")} $(WERROR) -Iinclude
SOURCES := ${" ".join(net.sources)}
INPUTS := $(SOURCES) $(wildcard include/* src/* weights/*)

.PHONY: all sanitize clean
all: build/lib${net.name}.so
sanitize: build/${net.name}_main

build/lib${net.name}.so: $(INPUTS)
	@mkdir -p build
	$(CC) $(FLAGS) -fPIC -shared $(SOURCES) -o $@ -lm

build/${net.name}_main: $(INPUTS)
	@mkdir -p build
	$(CC) $(FLAGS) ${" ".join(net.sanitizers)} $(SOURCES) src/${net.name}_main.c -o $@ -lm

clean:
	rm -rf build
