#!/bin/sh
# zlaunch shim: whoever calls this program gets zlaunch in front of it. ZLAUNCH_SHIM=0 switches that off.
# `zlaunch shims install` puts it on PATH under the names of the trainers and launchers, `zlaunch shims remove` takes it away.

name=${0##*/}
here=${0%/*}

# The rest of PATH, so that nobody behind us comes here again.
rest=
old_ifs=$IFS
IFS=:
set -f
for folder in $PATH; do
    case $folder in
    "$here" | "$here/") ;;
    *) rest=$rest${rest:+:}${folder:-.} ;;
    esac
done
set +f
IFS=$old_ifs

# A link or another spelling of this folder may be left: then the first one that came here goes on alone.
if [ "${ZLAUNCH_SHIM:-1}" = 0 ] || [ -n "${ZLAUNCH_SHIM_OF:-}" ] || ! PATH=$rest command -v zlaunch >/dev/null 2>&1; then
    if [ "${ZLAUNCH_SHIM_DEPTH:-0}" -ge 3 ]; then
        echo "zlaunch shim: $name finds only itself on PATH" >&2
        exit 127
    fi
    ZLAUNCH_SHIM_DEPTH=$((${ZLAUNCH_SHIM_DEPTH:-0} + 1))
    export ZLAUNCH_SHIM_DEPTH
    PATH=$rest
    export PATH
    exec "$name" "$@"
fi

PATH=$rest
ZLAUNCH_SHIM_OF=$name
export PATH ZLAUNCH_SHIM_OF
exec zlaunch -- "$name" "$@"
