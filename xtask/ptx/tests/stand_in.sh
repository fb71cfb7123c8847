#!/bin/sh
# Stands in for the programs that a build of PTX runs; a link to it has the name of one. What each says stands in files
# next to the link, or in the folder of the package that is compiled.
here=$(dirname "$0")
case "$(basename "$0") $1" in
"nvidia-smi "*) cat "$here/gpus" ;;
"rustc --print") dirname "$here" && [ ! -e "$here/broken" ] ;;
*" --version") cat "$here/$(basename "$0").version" ;;
"cargo metadata") cat "$PWD/metadata" ;;
"cargo rustc")
    { echo "call in $PWD"; printf '  %s\n' "$@"; } >>calls
    env | sort >environment
    cat says >&2
    [ ! -e fails ] || exit 101
    for argument; do
        case "$before" in --target-dir) target=$argument/nvptx64-nvidia-cuda/release ;; esac
        case "$argument" in --emit=asm=*) outputs=${argument#--emit=asm=} ;; esac
        before=$argument
    done
    mkdir -p "$target/deps"
    echo "$target/kernels.ptx: $PWD/src/lib.rs" >"$target/kernels.d"
    # Nothing where cargo finds all as it was.
    [ ! -e ptx ] || cp ptx "${outputs%%,llvm-ir=*}"
    [ ! -e ir ] || cp ir "${outputs#*,llvm-ir=}"
    ;;
esac
